// Goal: the state or start that a run must show.
//
// Pure functions; never throw.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spec/machine.h"

namespace ripeline::verify {

// A stuck state, or a start after which some pool holds more than its bound.
struct Goal {
  std::vector<std::optional<std::int64_t>> bounds;  // per pool; empty if the goal is a stuck state
  [[nodiscard]] bool is_stuck() const { return bounds.empty(); }
};

// True if some pool holds more than its bound after a task of the lane starts in this state.
[[nodiscard]] bool breaks_bound(const Goal& goal, const spec::Lane& lane,
                                const spec::Machine::State& state);

// True if each event is enabled in its turn, and the last state or start shows the goal.
[[nodiscard]] bool replays(const spec::Machine& machine, spec::Machine::Chooser chooser,
                           const Goal& goal, const std::vector<spec::Event>& events);

}  // namespace ripeline::verify
