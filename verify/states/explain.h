// Why a run ends where it does, in sentences.
//
// Pure functions; never throw.
#pragma once

#include <string>
#include <vector>

#include "spec/machine.h"
#include "verify/states/goal.h"
#include "verify/verdict.h"

namespace ripeline::verify {

// The reasons why, after these events, the lowest unstarted task of each lane cannot start; under a
// committed order, only those for the next task of each rank.
[[nodiscard]] std::vector<BlockedTask> waits_after(const spec::Machine& machine,
                                                   const std::vector<spec::Event>& events);
// The tasks that wait and what each waits for, in one or two sentences.
[[nodiscard]] std::string explain_stuck(const spec::Machine& machine,
                                        const std::vector<spec::Event>& events);
// A sentence about the pool whose bound the last start exceeds.
[[nodiscard]] std::string explain_excess(const spec::Machine& machine, const Goal& goal,
                                         const std::vector<spec::Event>& events);

}  // namespace ripeline::verify
