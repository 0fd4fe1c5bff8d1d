// Linear: a sum of counts of ended tasks, of multiples of the number of microbatches (all of them,
// or those of a share), and of a constant.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "spec/program.h"

namespace ripeline::verify {

struct Linear {
  // Lanes, and variables that are numbered after the lanes; each at most once, with its factor.
  std::vector<std::pair<int, std::int64_t>> lanes;
  std::vector<std::pair<spec::Share, std::int64_t>> microbatches;  // each share at most once
  std::int64_t constant = 0;

  Linear& add(int lane, std::int64_t factor);
  Linear& add(const spec::Share& share, std::int64_t factor);
  Linear& add(const Linear& other, std::int64_t factor);
  [[nodiscard]] std::int64_t factor_of(int lane) const;
  [[nodiscard]] std::int64_t at(const std::vector<std::int64_t>& done,
                                std::int64_t microbatches_now) const;
};

// The number of tasks that the lane has.
[[nodiscard]] Linear tasks_of(const spec::Program& program, int lane);

}  // namespace ripeline::verify
