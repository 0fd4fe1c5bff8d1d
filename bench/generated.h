// The generated arbiters for the contenders of bench_hints, with 8 ranks.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "bench/race.h"
#include "bf_1f1b.h"
#include "bf_eager.h"
#include "bf_max.h"
#include "bfw_h1.h"
#include "bfw_h2.h"
#include "fc_1f1b.h"
#include "fc_max.h"
#include "fixed_1f1b.h"
#include "fixed_eager_1f1b.h"
#include "fixed_zb_h1.h"
#include "fixed_zb_h2.h"
#include "rn_1f1b.h"
#include "rn_eager.h"
#include "rn_h1.h"
#include "rn_h2.h"

namespace ripeline::bench {

template <class Arbiter>
[[nodiscard]] Generated generated_from(const core::ProgramFacts& facts) {
  return {&facts, [](int rank) { return std::make_unique<Arbiter>(rank); }};
}

// The generated arbiter for a class's hint or, if `dispatch` is empty, for its fixed order.
[[nodiscard]] inline Generated generated(Memory memory, const std::string& dispatch,
                                         const Size& size) {
  static const std::map<std::pair<Memory, std::string>, Generated> kAll = {
      {{Memory::p_minus_s, ""}, generated_from<fixed_1f1b::Arbiter>(fixed_1f1b::facts)},
      {{Memory::eager, ""}, generated_from<fixed_eager_1f1b::Arbiter>(fixed_eager_1f1b::facts)},
      {{Memory::h1, ""}, generated_from<fixed_zb_h1::Arbiter>(fixed_zb_h1::facts)},
      {{Memory::h2, ""}, generated_from<fixed_zb_h2::Arbiter>(fixed_zb_h2::facts)},
      {{Memory::p_minus_s, "ready by bf"}, generated_from<bf_1f1b::Arbiter>(bf_1f1b::facts)},
      {{Memory::p_minus_s, "ready by rn"}, generated_from<rn_1f1b::Arbiter>(rn_1f1b::facts)},
      {{Memory::p_minus_s, "ready by fc"}, generated_from<fc_1f1b::Arbiter>(fc_1f1b::facts)},
      {{Memory::max, "ready by bf"}, generated_from<bf_max::Arbiter>(bf_max::facts)},
      {{Memory::max, "ready by fc"}, generated_from<fc_max::Arbiter>(fc_max::facts)},
      {{Memory::eager, "ready by bf"}, generated_from<bf_eager::Arbiter>(bf_eager::facts)},
      {{Memory::eager, "ready by rn"}, generated_from<rn_eager::Arbiter>(rn_eager::facts)},
      {{Memory::h1, "ready by bfw"}, generated_from<bfw_h1::Arbiter>(bfw_h1::facts)},
      {{Memory::h1, "ready by rn"}, generated_from<rn_h1::Arbiter>(rn_h1::facts)},
      {{Memory::h2, "ready by bfw"}, generated_from<bfw_h2::Arbiter>(bfw_h2::facts)},
      {{Memory::h2, "ready by rn"}, generated_from<rn_h2::Arbiter>(rn_h2::facts)}};
  const auto it = kAll.find({memory, dispatch});
  return size.ranks == 8 && it != kAll.end() ? it->second : Generated{};
}

}  // namespace ripeline::bench
