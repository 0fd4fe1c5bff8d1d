// CallGuard: ends a process if a thread does not return from a call, such as one into a driver.
//
// Nothing can make a thread leave such a call. While the thread of a rank's loop is in one, the
// rank neither receives nor sends, and does not end, but still seems alive to the others.
//
//   const CallGuard guard("rank 1", {.call = limits.stall});  // also watches this thread
//   …
//   const GuardedCall call("cudaFree");  // until the end of the block
//   cudaFree(data);
//
// Once a thread has been in one call for the limit, the guard writes the name of the process, the
// call and the task to standard error, and ends the process with the exit code of a time-out,
// without destructors. If the thread runs tasks, the loop can still report to the others which task
// does not end, so the guard waits kOrderly longer. The limit must be longer than anything that a
// call may wait for, such as a GPU that is busy with a task.
//
// A GuardedCall costs some nanoseconds: two stores, which one other thread reads. It may be used in
// any thread, and does nothing in a thread that no guard watches.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace ripeline::runtime::watchdog {

class GuardedThreads;  // the threads that a guard watches

class CallGuard {
 public:
  static constexpr std::chrono::seconds kOrderly{10};

  struct Limits {
    std::chrono::nanoseconds call;                // in the thread that makes the guard
    std::chrono::nanoseconds orderly = kOrderly;  // how much longer, for threads that run tasks
  };
  // Ends the process after the text is written. If null, the process ends as described above.
  using End = std::function<void()>;

  CallGuard(std::string who, const Limits& limits, End end = nullptr);
  ~CallGuard();
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;

 private:
  void watch(std::chrono::nanoseconds every);

  const std::string who_;
  const Limits limits_;
  const End end_;
  const std::shared_ptr<GuardedThreads> threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;  // guarded by the mutex
  std::thread thread_;
};

// The threads that the guard of this thread watches, for new threads to join; null if no guard
// watches this thread. The result may outlive the guard.
[[nodiscard]] std::shared_ptr<GuardedThreads> guarded_threads();
// Adds this thread, which runs tasks, unless it is in `threads` already. `threads` may be null.
void join_guarded_threads(const std::shared_ptr<GuardedThreads>& threads);

// Marks the call that this thread is in; where calls nest, the inner one counts. Borrows the name.
class GuardedCall {
 public:
  explicit GuardedCall(const char* name);
  ~GuardedCall();
  GuardedCall(const GuardedCall&) = delete;
  GuardedCall& operator=(const GuardedCall&) = delete;

 private:
  const char* outer_ = nullptr;
};

// Names the task that this thread's calls are for: `1F3`.
class GuardedTask {
 public:
  explicit GuardedTask(std::string name);
  ~GuardedTask();
  GuardedTask(const GuardedTask&) = delete;
  GuardedTask& operator=(const GuardedTask&) = delete;
};

}  // namespace ripeline::runtime::watchdog
