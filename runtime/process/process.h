// Process: one process of a run, everything of it that decides, without I/O.
//
// Events in, actions out: no thread, clock or socket. A Run (runtime/run.h) feeds it from a
// transport; a test from one queue for all the processes of a run. It has the gathers, and at most
// one rank of a program at a time: messages that come while it has none are kept for the next one.
// Whatever fails is told to all others (runtime/process/faults.h); outcome() then says who is to
// blame, and who waits for whom.
//
//   process.attach(rank, now);       // or process.begin_gather(…)
//   process.poll(now, actions);      // send, start
//   …                                // delivered(), ended(), heard()
//   if (!process.outcome().ok()) …   // the run has failed, and what can be known of it is known
//
// One thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/process/faults.h"
#include "runtime/process/gather.h"
#include "runtime/process/rank.h"

namespace ripeline::runtime::process {

class Process {
 public:
  // The neighbours are those that it is connected with, ascending.
  Process(int self, const core::Layout& layout, std::vector<int> neighbours, FaultLimits limits);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] int self() const { return self_; }
  [[nodiscard]] int processes() const { return layout_.processes(); }
  [[nodiscard]] const core::Layout& layout() const { return layout_; }

  // The rank, which is borrowed, runs a step until it is detached. It has begun it.
  void attach(Rank& rank, core::Time now);
  void detach() { rank_ = nullptr; }

  // All processes gather the same, in the same order.
  void begin_gather(std::string tag, Blob mine, core::Time now);
  [[nodiscard]] bool gather_done() const { return gathers_.is_done(); }
  [[nodiscard]] std::vector<Blob> take_gathered() { return gathers_.take(); }

  void delivered(Delivery delivery, core::Time now);
  void ended(Ended ended, core::Time now);
  // Asked at `now`, the transport says that the process was last heard at `at`.
  void heard(int process, core::Time at, core::Time now) { faults_.heard(process, at, now); }
  // From now on it waits for something again.
  void resume(core::Time now) { faults_.resume(now); }
  // The caller cannot go on.
  void fail(core::Status why, core::Time now);
  // It cannot because of another process, which does not answer in its own way: the run looks for
  // whom to blame.
  void hindered(core::Status why, core::Time now) { faults_.hindered(std::move(why), now); }

  // Replaces what `actions` holds.
  void poll(core::Time now, Actions& actions);
  void poll_sends(core::Time now, Actions& actions);

  // Something has failed: nothing starts any more.
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
  const core::ProgramFacts* facts_ = nullptr;  // the last rank's
  std::vector<Delivery> kept_;                 // for a rank, until there is one
  core::Status outcome_;
};

}  // namespace ripeline::runtime::process
