#include "runtime/worker.h"

#include <utility>

namespace ripeline::runtime {

using core::Status;

Worker::Worker(core::Arbiter& arbiter, Run& run, TaskEngine& engine, RankOptions options)
    : run_(run), engine_(engine), rank_(arbiter, run.layout(), run.self(), std::move(options)) {}

Status Worker::step(std::int64_t step, int microbatches, StepReport& report) {
  if (Status s = rank_.begin_step(step, microbatches, run_.now()); !s.ok()) {
    return run_.fail(std::move(s));
  }
  engine_.begin_step(step, microbatches);
  Status status = run_.run_step(rank_, engine_);
  report = rank_.report();
  return status;
}

}  // namespace ripeline::runtime
