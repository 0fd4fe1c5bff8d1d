// Runs of a tensor-parallel group: made from those of one member, replayed, continued and
// explained.
//
// Pure functions; never throw.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/group.h"
#include "spec/indexing.h"
#include "verify/verdict.h"

namespace ripeline::verify {

// All members do what the run of one member does, with the agreements that the starts need.
[[nodiscard]] std::vector<spec::Event> in_step(const spec::GroupMachine& group,
                                               const std::vector<spec::Event>& of_one);
// The state after the events; nothing if an event is not enabled in its turn.
[[nodiscard]] std::optional<spec::GroupMachine::State> replayed(
    const spec::GroupMachine& group, spec::Machine::Chooser chooser,
    const std::vector<spec::Event>& events);
// A sentence about a state in which the group sticks.
[[nodiscard]] std::string why_stuck(const spec::GroupMachine& group,
                                    const spec::GroupMachine::State& state);
// Continues the run, under the dispatch, until nothing is left to happen; appends the events.
void run_out(const spec::GroupMachine& group, spec::GroupMachine::State& state,
             std::vector<spec::Event>& events);
// Why tasks cannot start after a run that sticks; tasks that members do not agree on come first.
[[nodiscard]] std::vector<Wait> waits_of_group(const spec::GroupMachine& group,
                                               const std::vector<spec::Event>& events);

}  // namespace ripeline::verify
