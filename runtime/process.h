// Process: one process of a run, everything of it that decides, without I/O.
//
// Events in, actions out: no thread, clock or socket. A Run (runtime/run.h) feeds it from a
// transport; a test from one queue for all the processes of a run. It has the gathers, and at most
// one rank of a program at a time: messages that come while it has none are kept for the next one.
// Whatever fails is told to all others; from then on outcome() says why, and who waits for whom.
//
//   process.attach(rank, now);       // or process.begin_gather(…)
//   process.poll(now, actions);      // send, start
//   …                                // delivered(), ended()
//
// One thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "runtime/gather.h"
#include "runtime/rank.h"

namespace ripeline::runtime {

struct ProcessOptions {
  // The longest wait for any event while nothing runs here.
  std::chrono::nanoseconds silence = std::chrono::seconds(120);
};

class Process {
 public:
  Process(int self, int processes, ProcessOptions options);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] int self() const { return self_; }
  [[nodiscard]] int processes() const { return processes_; }

  // The rank, which is borrowed, runs a step until it is detached. It has begun it.
  void attach(Rank& rank, core::Time now);
  void detach() { rank_ = nullptr; }

  // All processes gather the same, in the same order.
  void begin_gather(std::string tag, Blob mine, core::Time now);
  [[nodiscard]] bool gather_done() const { return gathers_.is_done(); }
  [[nodiscard]] std::vector<Blob> take_gathered() { return gathers_.take(); }

  void delivered(Delivery delivery, core::Time now);
  void ended(Ended ended, core::Time now);
  // The caller cannot go on.
  void fail(core::Status why);

  // Replaces what `actions` holds.
  void poll(core::Time now, Actions& actions);
  void poll_sends(core::Time now, Actions& actions);

  [[nodiscard]] const core::Status& outcome() const { return outcome_; }

 private:
  void check(core::Status status);
  core::Status give(Delivery delivery, core::Time now);
  [[nodiscard]] bool is_idle() const { return rank_ == nullptr || rank_->running().empty(); }

  int self_;
  int processes_;
  ProcessOptions options_;
  Gathers gathers_;
  Rank* rank_ = nullptr;
  std::vector<Delivery> kept_;  // of edges, until there is a rank
  core::Status outcome_;
  bool told_ = false;  // the others of it
  core::Time last_event_{0};
};

}  // namespace ripeline::runtime
