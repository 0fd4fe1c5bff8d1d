// RunTrace: what a rank of a run did, put on disk while the run goes on.
//
//   RunTrace trace("run.json");
//   options.trace = trace.record();                       // of RankOptions
//   status = trace.open(facts, {.microbatches = 8}, run);
//   ...                                                   // after each step:
//   status = trace.step_ended();
//   ...                                                   // after the last:
//   status = trace.close();
//   status = run.finish(limit);
//   if (rank == 0) status = trace::finish_parts("run.json");
//
// The times are those of process 0's clock, as it is known when they are written, but of one rank
// they are in order: what follows does not come before what was written. Every rank appends to a
// part of its own in `run.json.parts` (trace/parts.h), at the end of a step and at most every two
// seconds, unless the steps have many events. So memory does not grow with the run, and one that is
// killed keeps its trace up to then: `ripeline show run.json.parts`. The parts of an earlier run
// that did not end well go when the next one opens.
//
// When a part cannot be written, step_ended() says so once. The run may go on, without a trace of
// this rank from there; close() then fails. Dropped without close(), it appends what it has. One
// thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "core/facts.h"
#include "core/status.h"
#include "runtime/clock.h"
#include "runtime/run.h"
#include "trace/about.h"
#include "trace/parts.h"
#include "trace/record.h"

namespace ripeline::runtime {

class RunTrace {
 public:
  explicit RunTrace(std::string path, core::Time pause = std::chrono::seconds(2))
      : path_(std::move(path)), pause_(pause) {}
  ~RunTrace();
  RunTrace(const RunTrace&) = delete;
  RunTrace& operator=(const RunTrace&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] trace::Record* record() { return &record_; }
  [[nodiscard]] bool has_part() const { return about_.has_value(); }  // on disk

  // Every rank calls it: they agree on a number for the run, which must outlive the trace.
  core::Status open(const core::ProgramFacts& facts, const trace::Run& about, Run& run);
  core::Status step_ended();
  core::Status close();

  // For who has one in a loop of steps of one program: opens it at the first step, and before each
  // other one does what step_ended() does. What that says is printed, since the run goes on. A step
  // has at most as many microbatches as the first.
  core::Status begin_step(const core::ProgramFacts& facts, int microbatches, Run& run);
  // Sets what the trace says of the run, but for its microbatches.
  void set_about(trace::Run about) { said_ = std::move(about); }

 private:
  core::Status append();
  [[nodiscard]] core::Time to_run_clock();

  std::string path_;
  core::Time pause_;
  core::Time next_{0};
  // The last event that was written, on the own clock, and the offset that was added then.
  core::Time written_ = core::Time::min();
  core::Time added_{0};
  trace::Record record_;
  trace::Run said_;
  bool has_begun_ = false;  // a first step
  const Run* run_ = nullptr;
  std::optional<trace::About> about_;
  std::optional<trace::PartWriter> part_;  // while it is open
};

}  // namespace ripeline::runtime
