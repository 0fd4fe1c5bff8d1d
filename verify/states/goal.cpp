#include "verify/states/goal.h"

#include <algorithm>

namespace ripeline::verify {

using spec::Event;
using spec::Machine;

bool breaks_bound(const Goal& goal, const spec::Lane& lane, const Machine::State& state) {
  if (goal.is_stuck()) return false;
  return std::any_of(lane.acquires.begin(), lane.acquires.end(), [&](const spec::Acquire& a) {
    const auto& bound = at(goal.bounds, a.pool);
    return bound && at(state.held, a.pool) + a.amount > *bound;
  });
}

bool replays(const Machine& machine, Machine::Chooser chooser, const Goal& goal,
             const std::vector<Event>& events) {
  Machine::State state = machine.initial();
  bool broken = false;  // whether by the last event
  for (const Event& event : events) {
    if (!machine.is_enabled(state, event, chooser)) return false;
    const spec::Lane& lane = at(machine.program().lanes, event.lane);
    broken = event.what == Event::Do::start && breaks_bound(goal, lane, state);
    machine.step(state, event);
  }
  return goal.is_stuck() ? machine.stuck(state) : broken;
}

}  // namespace ripeline::verify
