// Shows the progress of slow work on standard error. After two seconds, a terminal shows a line,
// which is removed when the work ends. If a quicker alternative is known, one line names the work
// and that alternative after five seconds, on a terminal or not.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace ripeline::cli {

// Shows `what` and the elapsed seconds during its lifetime. Its thread only waits and writes.
class Progress {
 public:
  // `quicker` is a sentence on a quicker alternative. If empty, only a terminal shows anything.
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
