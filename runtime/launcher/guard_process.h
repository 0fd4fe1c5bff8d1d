// launcher/guard_process: the code that runs in the guard.
#pragma once

#include <chrono>
#include <vector>

#include "runtime/launcher/inherited.h"
#include "runtime/launcher/output.h"
#include "runtime/launcher/rank_process.h"

namespace ripeline::runtime::launcher {

// A killed process that has not ended after this time hangs in the kernel and is left alone.
inline constexpr std::chrono::seconds kEndLimit{10};

// Runs in a forked child of the launcher, until all ranks have ended or the launcher is gone. Makes
// the run's folder, starts the ranks, sends GuardReports over `launcher`, and passes on to the
// ranks the signals that it reads from `launcher` as ints. Writes into the store how a rank has
// ended, for ranks that wait for that rank to join. Then ends all processes that are left.
[[noreturn]] void run_guard(const RunPlan& plan, const std::vector<RankOutputs>& outputs,
                            const Inherited& inherited, int launcher);

}  // namespace ripeline::runtime::launcher
