// Worker: one rank's steps of a program. It puts a Rank into the Run of its process, and has its
// tasks run by a TaskEngine.
//
// Whether tasks run in the caller's thread or beside it is the engine's business
// (runtime/engine.h). With an InlineEngine messages move between tasks only; what is sent and
// granted leaves before a task. One thread.
#pragma once

#include <cstdint>

#include "runtime/engine.h"
#include "runtime/process/rank.h"
#include "runtime/run.h"

namespace ripeline::runtime {

class Worker {
 public:
  // All are borrowed and must outlive the worker. The arbiter is of the rank that the run's layout
  // gives this process.
  Worker(core::Arbiter& arbiter, Run& run, TaskEngine& engine, process::RankOptions options = {});
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // One step of training: every task of this rank once.
  core::Status step(std::int64_t step, int microbatches, process::StepReport& report);

  [[nodiscard]] const process::Rank& rank() const { return rank_; }

 private:
  Run& run_;
  TaskEngine& engine_;
  const trace::Record* record_;  // or null
  process::Rank rank_;
};

}  // namespace ripeline::runtime
