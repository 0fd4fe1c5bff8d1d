// Termination: SIGTERM as a reason to fail, so that a rank says why it ends.
//
// A scheduler that wants its node back sends SIGTERM and, some seconds later, SIGKILL; so does
// `ripeline launch` when another rank has failed. A process without this class ends at once, and
// the others know of it only that it is lost. With it the run fails, and the others are told:
//
//   int main() {
//     runtime::Termination termination;
//     …  {.termination = &termination}             // of SocketOptions, JoinOptions, RunOptions
//     return termination.exit_code_of(status);
//   }
//
// What has failed before is what the process says: the signal may have come because of it. A task
// that runs is not interrupted, and what the program does between two steps is not either; the run
// fails after it. Another SIGTERM, a second or more after the last one, ends the process at once:
// one that comes sooner is the same request, of the scheduler and of the launcher.
//
// It takes over the signal's handler until its end, unless SIGTERM is ignored, which it stays. One
// at a time in a process. A forked child ends by SIGTERM as if this were not there.
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

  // From any thread: the signal has come.
  [[nodiscard]] bool requested() const;
  // Calls it when the signal comes, in a thread of its own, and at once if it has come. It replaces
  // the one before, which is not called any more on return; null: none.
  void call_when_requested(std::function<void()> call);

  // Why a rank fails that was told to end.
  [[nodiscard]] static core::Status status_of(const std::string& who);
  // The same while the ranks connect; ok if the signal has not come, or there is no `termination`.
  [[nodiscard]] static core::Status status_at_start(const Termination* termination, int rank);
  // The exit code for main(): 143, as after an end by SIGTERM, if the run failed and it has come.
  [[nodiscard]] int exit_code_of(const core::Status& status) const;

 private:
  void listen();
  bool wait(int milliseconds);  // -1: for ever. False: the time is over

  struct sigaction before_ {};
  int event_ = -1;  // the handler's, and the destructor's
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::function<void()> call_;  // guarded by the mutex
  std::thread thread_;          // last: it uses all the others
};

}  // namespace ripeline::runtime
