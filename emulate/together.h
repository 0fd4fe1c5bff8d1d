// The logs of an emulated run's ranks, put together: the report, the record, and why engines were
// idle.
//
// Computed after the run, from each rank's log, by the code that the simulator runs during its own:
// so both give one kind of report. A rank with several members counts as its member 0. Pure
// function.
#pragma once

#include <vector>

#include "core/facts.h"
#include "emulate/emulate.h"
#include "emulate/log.h"

namespace ripeline::emulate {

// `processes` by process, all of one run. It sticks if its ranks only waited; else its status is
// that of the first rank that says why it failed.
[[nodiscard]] EmulatedRun together(const core::ProgramFacts& facts, int microbatches,
                                   std::vector<RankRun> processes, const EmulateOptions& options);

}  // namespace ripeline::emulate
