// LongCall: work that runs in a thread of its own, while its caller looks after it.
//
// Python sees Ctrl-C only when its main thread asks for signals, so the thread that called waits,
// and asks between slices of its wait. If it finds a reason to end the work, the work is stopped
// (spec/long_work.h), and its thread has ended before the caller goes on.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace ripeline::python {

// What a long call has done so far.
struct Progress {
  double seconds = 0;                   // since it began
  std::string part;                     // such as `deadlock`; may be empty
  std::optional<double> best, bound{};  // of a search: the best value and its bound so far
};

class LongCall {
 public:
  // Called in the thread of the work.
  void begins(const std::string& part);
  void found(std::optional<double> best, std::optional<double> bound);

  // Called in any thread.
  [[nodiscard]] Progress progress() const;

 private:
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
  Progress progress_;
};

// How long the caller waits before it looks, and looks again.
inline constexpr std::chrono::milliseconds kSlice{20};

// Runs `work` in a thread of its own and returns when it has ended; rethrows what it throws. For as
// long as it runs, `look` is called in the calling thread, once for each slice. If `look` throws,
// the work is stopped, and when its thread has ended, the exception of `look` is thrown.
void run_long(const std::function<void(LongCall&)>& work,
              const std::function<void(const LongCall&)>& look);

}  // namespace ripeline::python
