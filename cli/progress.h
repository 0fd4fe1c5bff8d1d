// A line on the terminal for work that takes longer than two seconds; gone when it ends. Nothing
// when standard error is no terminal.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace ripeline::cli {

// Shows `what` and the seconds so far while it lives. Owns a thread that only waits and writes.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void show(const std::string& what);

  std::mutex mutex_;
  std::condition_variable ended_signal_;
  bool ended_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace ripeline::cli
