// RunTrace: the trace of one rank's events, written to disk during the run.
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
// Times are on process 0's clock, as far as it is known when they are written. Still, each rank's
// times stay in order: an event never gets a time before one that is already written. Every rank
// appends to a part of its own in `run.json.parts` (trace/parts.h) at the end of a step, at most
// every two seconds unless the steps have many events. So memory does not grow with the run, and a
// killed run leaves what it has written; `ripeline show run.json.parts` shows that. The next trace
// that opens removes the parts of an earlier run that did not end well.
//
// If a part cannot be written, step_ended() fails once. The run may continue without a trace of
// this rank from then on; close() then fails. A trace that is destroyed without close() appends its
// remaining events. One thread.
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

  // Every rank must call this, since all agree on the run's number. `run` must outlive the trace.
  core::Status open(const core::ProgramFacts& facts, const trace::RunInfo& about, Run& run);
  core::Status step_ended();
  core::Status close();

  // For a trace in a loop of steps of one program: opens the trace at the first step, and calls
  // step_ended() before each later step. A failure of step_ended() is printed, since the run goes
  // on. No step may have more microbatches than the first.
  core::Status begin_step(const core::ProgramFacts& facts, int microbatches, Run& run);
  // Sets the trace's description of the run, except for the microbatches.
  void set_about(trace::RunInfo about) { info_ = std::move(about); }

 private:
  core::Status append();
  [[nodiscard]] core::Time to_run_clock();

  std::string path_;
  core::Time pause_;
  core::Time next_{0};
  // The time of the last written event, on this process's clock, and the offset added to that time.
  core::Time written_ = core::Time::min();
  core::Time added_{0};
  trace::Record record_;
  trace::RunInfo info_;
  bool has_begun_ = false;  // the first step has begun
  const Run* run_ = nullptr;
  std::optional<trace::About> about_;
  std::optional<trace::PartWriter> part_;  // while the part is open
};

}  // namespace ripeline::runtime
