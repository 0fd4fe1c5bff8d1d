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

// Why, after these events, the lowest unstarted task of each lane cannot start; under a committed
// order, only why the next task of each rank cannot.
[[nodiscard]] std::vector<Wait> waits_after(const spec::Machine& machine,
                                            const std::vector<spec::Event>& events);
// The tasks that wait and what each waits for, in one or two sentences.
[[nodiscard]] std::string explain_stuck(const spec::Machine& machine,
                                        const std::vector<spec::Event>& events);
// The excess that the last start causes in its pool, in a sentence.
[[nodiscard]] std::string explain_excess(const spec::Machine& machine, const Goal& goal,
                                         const std::vector<spec::Event>& events);

}  // namespace ripeline::verify
