// fill: makes one run that holds large amounts at once.
//
// The run is greedy and never backtracks: the most wanted lanes start as long as they can, and
// tasks that release amounts end only when nothing else can happen. Pools reach the amounts of such
// a run, so no smaller bound is true; but other runs may hold more. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spec/machine.h"
#include "verify/states/budget.h"

namespace ripeline::verify {

// The order in which lanes are to start.
struct Wishes {
  std::vector<int> lanes;  // all lanes, the most wanted first
  int freely = 0;          // so many of the first start freely; the others one task at a time
};

// The events of a run under Chooser::any, which ends when every pool with an amount in `enough` has
// held this amount, or no event is possible. The budget counts starts, made or tried.
[[nodiscard]] std::vector<spec::Event> fill(const spec::Machine& machine, const Wishes& wishes,
                                            std::vector<std::optional<std::int64_t>> enough,
                                            Budget& budget);

// The greatest amount in each pool during these events, which the machine must be able to make.
[[nodiscard]] std::vector<std::int64_t> most_held(const spec::Machine& machine,
                                                  const std::vector<spec::Event>& events);

}  // namespace ripeline::verify
