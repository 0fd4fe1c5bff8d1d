// Process: makes all decisions of one process of a run, without I/O.
//
// It takes events and returns actions; it has no thread, clock or socket. A Run (runtime/run.h)
// feeds it from a transport, and a test feeds it from a queue. It does the run's gathers, and steps
// of at most one rank at a time; messages that arrive while it has no rank are kept for the next
// one. Every failure is reported to all other processes (runtime/protocol/faults.h). Then outcome()
// names the process to blame, and tells who waits for whom.
//
//   process.attach(rank, now);       // or process.begin_gather(…)
//   process.poll(now, actions);      // send, start
//   …                                // delivered(), ended(), heard()
//   if (!process.outcome().ok()) …   // the run has failed, and outcome() is its final status
//
// One thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/protocol/faults.h"
#include "runtime/protocol/gather.h"
#include "runtime/protocol/rank.h"

namespace ripeline::runtime::protocol {

class Process {
 public:
  // `neighbours` are the processes that this one is connected with, ascending.
  Process(int self, const core::Layout& layout, std::vector<int> neighbours, FaultLimits limits);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] int self() const { return self_; }
  [[nodiscard]] int processes() const { return layout_.processes(); }
  [[nodiscard]] const core::Layout& layout() const { return layout_; }

  // Until detach() this process runs a step of the rank, which is borrowed and has begun the step.
  void attach(Rank& rank, core::Time now);
  void detach() { rank_ = nullptr; }

  // All processes make the same gathers, in the same order.
  void begin_gather(std::string tag, Blob mine, core::Time now);
  [[nodiscard]] bool gather_done() const { return gathers_.is_done(); }
  [[nodiscard]] std::vector<Blob> take_gathered() { return gathers_.take(); }

  void delivered(Delivery delivery, core::Time now);
  void ended(Ended ended, core::Time now);
  // Notes that the last sign of life of `process`, as known at `now`, was at `at`.
  void heard(int process, core::Time at, core::Time now) { faults_.heard(process, at, now); }
  // Called when this process begins to wait for something again.
  void resume(core::Time now) { faults_.resume(now); }
  // Makes the run fail, for a caller that cannot continue.
  void fail(core::Status why, core::Time now);
  // Does the same if the cause is another process, whose failure the run cannot see by itself. The
  // run then looks for the process to blame.
  void hindered(core::Status why, core::Time now) { faults_.hindered(std::move(why), now); }

  // Replaces the contents of `actions`.
  void poll(core::Time now, Actions& actions);
  void poll_sends(core::Time now, Actions& actions);

  // Whether something has failed, so that nothing starts any more.
  [[nodiscard]] bool is_failing() const { return faults_.any(); }
  [[nodiscard]] const core::Status& outcome() const { return outcome_; }

 private:
  void check(core::Status status, core::Time now);
  void check_sent(int process, core::Status status, core::Time now);
  core::Status give(Delivery delivery, core::Time now);
  core::Status take_report(const Delivery& delivery, core::Time now);
  [[nodiscard]] ProcessReport report(core::Time now) const;
  void poll_faults(core::Time now, Actions& actions);

  int self_;
  core::Layout layout_;
  Gathers gathers_;
  Faults faults_;
  Rank* rank_ = nullptr;
  const core::ProgramFacts* facts_ = nullptr;  // the facts of the last rank
  std::vector<Delivery> kept_;                 // deliveries for the next rank
  core::Status outcome_;
};

}  // namespace ripeline::runtime::protocol
