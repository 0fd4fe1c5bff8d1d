#include "runtime/worker.h"

#include <utility>

#include "runtime/run_trace.h"

namespace ripeline::runtime {

using core::Status;

Worker::Worker(core::Arbiter& arbiter, Run& run, TaskEngine& engine, process::RankOptions options)
    : run_(run),
      engine_(engine),
      record_(options.trace),
      rank_(arbiter, run.layout(), run.self(), std::move(options)) {}

Status Worker::step(std::int64_t step, int microbatches, process::StepReport& report) {
  RunTrace* const trace = run_.trace();
  if (trace != nullptr && trace->record() == record_) {
    if (Status s = trace->begin_step(rank_.facts(), microbatches, run_); !s.ok()) {
      return run_.fail(std::move(s));
    }
  }
  if (Status s = rank_.begin_step(step, microbatches, run_.now()); !s.ok()) {
    return run_.fail(std::move(s));
  }
  engine_.begin_step(step, microbatches);
  Status status = run_.run_step(rank_, engine_);
  report = rank_.report();
  return status;
}

}  // namespace ripeline::runtime
