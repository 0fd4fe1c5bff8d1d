// LastWait: a wait that cannot be given up, since what is waited for uses the caller's memory, and
// that must not be for ever.
//
//   const LastWait last("the task that runs");
//   thread.join();
//
// If it takes longer than the limit, standard error says what for, and the process ends with the
// exit code of a time-out, without destructors: with it goes whatever does not come back. For ways
// out alone, where there is nothing left to lose.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace ripeline::runtime {

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

}  // namespace ripeline::runtime
