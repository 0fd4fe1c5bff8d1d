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

// Each member does what the run of one member says, all alike, with the agreements that it takes.
[[nodiscard]] std::vector<spec::Event> in_step(const spec::GroupMachine& group,
                                               const std::vector<spec::Event>& of_one);
// The state after the events; nothing if one is not enabled in its turn.
[[nodiscard]] std::optional<spec::GroupMachine::State> replayed(
    const spec::GroupMachine& group, spec::Machine::Chooser chooser,
    const std::vector<spec::Event>& events);
// A sentence about a state in which the group sticks.
[[nodiscard]] std::string why_stuck(const spec::GroupMachine& group,
                                    const spec::GroupMachine::State& state);
// Goes on, under the dispatch, until nothing is left to happen; appends the events.
void run_out(const spec::GroupMachine& group, spec::GroupMachine::State& state,
             std::vector<spec::Event>& events);
// Why tasks of the group cannot start after a run that sticks: members that do not agree first.
[[nodiscard]] std::vector<Wait> waits_of_group(const spec::GroupMachine& group,
                                               const std::vector<spec::Event>& events);

}  // namespace ripeline::verify
