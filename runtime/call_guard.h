// CallGuard: ends a process of which a thread does not come out of a call, as one into a driver.
//
// Nobody can take a thread out of such a call. While the thread of a rank's loop is in one, the
// rank hears nothing and says nothing, and does not end, though it still seems alive to the others.
//
//   const CallGuard guard("rank 1", {.call = limits.stall});  // also watches this thread
//   …
//   const GuardedCall call("cudaFree");  // until the end of the block
//   cudaFree(data);
//
// Once a thread has been in one call for the limit, standard error says whose it is, which call and
// of which task, and the process ends with the exit code of a time-out, without destructors. If it
// is a thread that runs tasks, the loop still can tell the others what does not end, and has
// kOrderly more to do so. The limit must be longer than whatever a call may wait for: a GPU that is
// busy with a task, say.
//
// A GuardedCall costs some nanoseconds: two stores that one other thread reads. It may stand in
// any thread, and in one that no guard watches it does nothing.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace ripeline::runtime {

class GuardedThreads;  // the threads that a guard watches

class CallGuard {
 public:
  static constexpr std::chrono::seconds kOrderly{10};

  struct Limits {
    std::chrono::nanoseconds call;                // for the thread that makes the guard
    std::chrono::nanoseconds orderly = kOrderly;  // longer, for the others
  };
  // How the process ends, after what was said; null: as above.
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

// Those that the guard of this thread watches, for threads that it starts; null: none does. They
// may be kept when the guard is gone.
[[nodiscard]] std::shared_ptr<GuardedThreads> guarded_threads();
// Adds this thread, which runs tasks; one that is among them already stays. Null: nothing.
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

}  // namespace ripeline::runtime
