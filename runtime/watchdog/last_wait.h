// LastWait: a limit on a wait that cannot be given up, since what is waited for uses the caller's
// memory, but that must not last for ever.
//
//   const LastWait last("the task that runs");
//   thread.join();
//
// If the wait takes longer than the limit, standard error says what it is for, and the process ends
// with the exit code of a time-out, without destructors; that also ends whatever does not return.
// To be used only where nothing is lost by that: at the start or the end of a process or its run.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace ripeline::runtime::watchdog {

class LastWait {
 public:
  static constexpr std::chrono::seconds kLimit{60};

  explicit LastWait(std::string what, std::chrono::nanoseconds limit = kLimit);
  ~LastWait();
  LastWait(const LastWait&) = delete;
  LastWait& operator=(const LastWait&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;  // guarded by the mutex
  std::thread thread_;
};

}  // namespace ripeline::runtime::watchdog
