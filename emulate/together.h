// Combines the logs of an emulated run's ranks into the report, the record, and the causes of idle
// engines.
//
// The result is computed after the run, from each rank's log, by the code that the simulator runs
// during its own run, so that both make the same kind of report. A rank with several members is
// represented by its member 0. Pure function.
#pragma once

#include <vector>

#include "core/facts.h"
#include "emulate/emulate.h"
#include "emulate/log.h"

namespace ripeline::emulate {

// `processes` are the logs of one run, by process. The run is stuck if its ranks only waited;
// otherwise its status is that of the first rank that reports why it failed.
[[nodiscard]] EmulatedRun together(const core::ProgramFacts& facts, int microbatches,
                                   std::vector<RankRun> processes, const EmulateOptions& options);

}  // namespace ripeline::emulate
