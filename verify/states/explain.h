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

// Why each lane's lowest unstarted task cannot start, after these events; under a committed order,
// of each rank's next task only.
[[nodiscard]] std::vector<Wait> waits_after(const spec::Machine& machine,
                                            const std::vector<spec::Event>& events);
// Who waits for whom, in one or two sentences.
[[nodiscard]] std::string explain_stuck(const spec::Machine& machine,
                                        const std::vector<spec::Event>& events);
// What the last start makes of its pool.
[[nodiscard]] std::string explain_excess(const spec::Machine& machine, const Goal& goal,
                                         const std::vector<spec::Event>& events);

}  // namespace ripeline::verify
