// find_waits: what a rank waits for (core/waiting.h), found in the state of its executor.
//
// Only reads the state. Called after failures and for reports, so it may look at every task.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/arbiter.h"
#include "core/ledger.h"
#include "core/links.h"
#include "core/progress.h"
#include "core/running.h"
#include "core/waiting.h"

namespace ripeline::core {

// Why an engine got no task when the executor last asked for one.
enum class Idle : std::uint8_t {
  no_choice,  // the engine got a task, or the arbiter had none to choose
  undecided,  // the group has not agreed on a task
  held,       // the hint waits for another task
};

// The state of an executor, borrowed.
struct RankView {
  const ProgramFacts& facts;
  int rank;
  const TaskProgress& progress;
  const Links& links;
  const Ledger& ledger;
  const Arbiter& arbiter;
  const std::array<RunningTasks, kEngines>& running;
  const std::array<Idle, kEngines>& idle;
};

// Appends a wait for each need of `task` that is missing.
void find_needs(const RankView& view, Task task, std::vector<Wait>& waits);
[[nodiscard]] RankWaits find_waits(const RankView& view, std::int64_t step);

}  // namespace ripeline::core
