// The progress of slow work on standard error: after two seconds, on a terminal, a line that is
// gone when the work ends; after five, terminal or not, one line with the work and what would be
// quicker, if that is known.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace ripeline::cli {

// Shows `what` and the seconds so far while it lives. Owns a thread that only waits and writes.
class Progress {
 public:
  // `quicker`: a sentence about what would be; empty: nothing is said where there is no terminal.
  explicit Progress(std::string what, std::string quicker = "");
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void show();

  const std::string what_;
  const std::string quicker_;
  const bool terminal_;
  std::mutex mutex_;
  std::condition_variable ended_signal_;
  bool ended_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace ripeline::cli
