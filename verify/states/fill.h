// fill: one run that holds much at once.
//
// Greedy, and never taken back: the lanes that are wanted most start as long as they may, and ends
// that give something back wait until nothing else can happen. What such a run holds is reached,
// hence no lower number bounds it; that no run holds more it does not say. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spec/machine.h"
#include "verify/states/budget.h"

namespace ripeline::verify {

// Which lanes are to start first.
struct Wishes {
  std::vector<int> lanes;  // all, the most wanted first
  int freely = 0;          // so many of them start as often as they may; the others once at a time
};

// Events that spec::Machine makes under any choice, until every pool has held `enough`, if there is
// a number for it, or until nothing is left to happen. The budget is of starts, made or tried.
[[nodiscard]] std::vector<spec::Event> fill(const spec::Machine& machine, const Wishes& wishes,
                                            std::vector<std::optional<std::int64_t>> enough,
                                            Budget& budget);

// Per pool the most that it holds at any time in these events, which the machine makes.
[[nodiscard]] std::vector<std::int64_t> most_held(const spec::Machine& machine,
                                                  const std::vector<spec::Event>& events);

}  // namespace ripeline::verify
