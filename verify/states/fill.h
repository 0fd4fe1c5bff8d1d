// fill: makes one run that holds large amounts at once.
//
// The run is greedy, without going back: the most wanted lanes start as long as they can, and tasks
// that release something end only when nothing else can happen. Pools reach what such a run holds,
// so no lower bound is true; the run does not show that no run holds more. Pure functions.
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
  int freely = 0;          // so many start as often as they may; the others once at a time
};

// Events that spec::Machine makes under any choice, until every pool with a number in `enough` has
// held that much, or until nothing is left to happen. The budget counts starts, made or tried.
[[nodiscard]] std::vector<spec::Event> fill(const spec::Machine& machine, const Wishes& wishes,
                                            std::vector<std::optional<std::int64_t>> enough,
                                            Budget& budget);

// The most that each pool holds at any time in these events, which the machine must make.
[[nodiscard]] std::vector<std::int64_t> most_held(const spec::Machine& machine,
                                                  const std::vector<spec::Event>& events);

}  // namespace ripeline::verify
