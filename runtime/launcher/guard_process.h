// launcher/guard_process: what runs in the guard.
#pragma once

#include <chrono>
#include <vector>

#include "runtime/launcher/inherited.h"
#include "runtime/launcher/output.h"
#include "runtime/launcher/rank_process.h"

namespace ripeline::runtime::launcher {

// After so long a process that was killed is left alone: it is in the kernel.
inline constexpr std::chrono::seconds kEndLimit{10};

// In a forked child of the launcher: makes the run's folder, starts the ranks, tells Notices over
// `launcher`, and sends the ranks the signals that it reads there as ints, until all have ended or
// the launcher is gone. How a rank has ended it puts into the run's store, for others that wait for
// it to join. Then ends all that is left.
[[noreturn]] void run_guard(const RunPlan& plan, const std::vector<RankOutputs>& outputs,
                            const Inherited& inherited, int launcher);

}  // namespace ripeline::runtime::launcher
