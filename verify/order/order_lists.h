// OrderLists: what each engine of each rank does, one task after another, under a committed order
// with one microbatch count. A pure function.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/program.h"

namespace ripeline::verify {

struct OrderLists {
  std::optional<spec::Diagnostics> invalid;        // the order has no meaning for this count
  std::vector<std::vector<spec::Task>> of_engine;  // per rank and engine
  // Per lane and microbatch: where in those it stands, the first time, or -1.
  std::vector<std::vector<int>> place;
  // A rank's list is not each task exactly once: what is wrong, or empty.
  std::string not_once;
};
[[nodiscard]] OrderLists lists_of_order(const spec::Program& program, int microbatches);

// The lane's index into the lists.
[[nodiscard]] int list_of(const spec::Program& program, int lane);

}  // namespace ripeline::verify
