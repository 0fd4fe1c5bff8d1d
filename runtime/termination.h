// Termination: turns SIGTERM into a failure of the run, so that a rank reports why it ends.
//
// A scheduler that needs its node back sends SIGTERM and, some seconds later, SIGKILL; so does
// `ripeline launch` when another rank has failed. A process without this class ends at once, and
// the other ranks learn only that it is lost. With the class the run fails; the others learn why:
//
//   int main() {
//     runtime::Termination termination;
//     …  {.termination = &termination}             // of SocketOptions, JoinOptions, RunOptions
//     return termination.exit_code_of(status);
//   }
//
// If the run has failed before, the process reports that failure, since the signal may have come
// because of it. The signal interrupts neither a running task nor what the program does between two
// steps; the run fails afterwards. Another SIGTERM, a second or more after the last one, ends the
// process at once. An earlier one is ignored, since scheduler and launcher may both have sent it.
//
// Until its end the object replaces the signal's handler; if SIGTERM is ignored, it stays ignored.
// A process has one object at a time. SIGTERM ends a forked child as if there were no object.
#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <mutex>
#include <thread>

#include "core/status.h"

namespace ripeline::runtime {

class Termination {
 public:
  Termination();
  ~Termination();
  Termination(const Termination&) = delete;
  Termination& operator=(const Termination&) = delete;

  // True once the signal has arrived. May be called in any thread.
  [[nodiscard]] bool requested() const;
  // Calls `call` when the signal arrives, in a thread of its own, or at once if it has arrived.
  // Replaces the former function, which is not called after the return. Null only removes it.
  void call_when_requested(std::function<void()> call);

  // The status with which `who` fails if it was told to end.
  [[nodiscard]] static core::Status status_of(const std::string& who);
  // The status of a rank that is still connecting; ok if no signal came or `termination` is null.
  [[nodiscard]] static core::Status status_at_start(const Termination* termination, int rank);
  // The exit code for main(); if the signal came and a run failed, 143 as for a death by SIGTERM.
  [[nodiscard]] int exit_code_of(const core::Status& status) const;

 private:
  void listen();
  bool wait(int milliseconds);  // -1 waits for ever; false after a timeout

  struct sigaction before_ {};
  int event_ = -1;  // an eventfd that handler and destructor write to
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::function<void()> call_;  // guarded by the mutex
  std::thread thread_;          // last, since it uses all other members
};

}  // namespace ripeline::runtime
