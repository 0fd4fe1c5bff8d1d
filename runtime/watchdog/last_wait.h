// LastWait: a limit on a wait that must not last for ever, but cannot simply be ended, since the
// thing that it waits for uses the caller's memory.
//
//   const LastWait last("the task that runs");
//   thread.join();
//
// If the wait takes longer than the limit, a line on standard error names its purpose, and the
// process ends with the exit code of a time-out, without destructors. That also ends calls that do
// not return. Use this only where nothing is lost: at the start or end of a process or its run.
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
