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

// A run in which all members do the same as in the run of one, with the agreements for the starts.
[[nodiscard]] std::vector<spec::Event> in_step(const spec::GroupMachine& group,
                                               const std::vector<spec::Event>& of_one);
// The state after the events; nullopt if an event is not enabled in its turn.
[[nodiscard]] std::optional<spec::GroupMachine::State> replayed(
    const spec::GroupMachine& group, spec::Machine::Chooser chooser,
    const std::vector<spec::Event>& events);
// A sentence about a state in which the group sticks.
[[nodiscard]] std::string why_stuck(const spec::GroupMachine& group,
                                    const spec::GroupMachine::State& state);
// Continues the run, under the dispatch, until no event is enabled; appends the events.
void run_out(const spec::GroupMachine& group, spec::GroupMachine::State& state,
             std::vector<spec::Event>& events);
// Why tasks cannot start after a run that sticks; tasks without an agreement of members are first.
[[nodiscard]] std::vector<BlockedTask> waits_of_group(const spec::GroupMachine& group,
                                                      const std::vector<spec::Event>& events);

}  // namespace ripeline::verify
