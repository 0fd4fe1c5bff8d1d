// What the ranks of an emulated run did, put together: the report, the record, and why engines were
// idle.
//
// Worked out after the run, from what each rank noted, by what the simulator asks during it: so
// both give one kind of report. Of a rank with several members it is what member 0 did. Pure
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
