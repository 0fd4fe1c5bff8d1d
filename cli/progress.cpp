#include "cli/progress.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

namespace ripeline::cli {

Progress::Progress(std::string what, std::string quicker)
    : what_(std::move(what)), quicker_(std::move(quicker)), terminal_(isatty(STDERR_FILENO) == 1) {
  if (terminal_ || !quicker_.empty()) thread_ = std::thread([this] { show(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ended_signal_.notify_one();
  thread_.join();
}

void Progress::show() {
  constexpr int kLineAfter = 2;  // seconds
  constexpr int kQuickerAfter = 5;
  std::unique_lock lock(mutex_);
  const auto has_ended = [this] { return ended_; };
  for (int seconds = 1;; ++seconds) {
    if (ended_signal_.wait_for(lock, std::chrono::seconds(1), has_ended)) break;
    const char* const clear = terminal_ ? "\r\033[K" : "";
    if (seconds == kQuickerAfter && !quicker_.empty()) {
      std::fprintf(stderr, "%sripeline: %s takes longer than %d s. %s\n", clear, what_.c_str(),
                   kQuickerAfter, quicker_.c_str());
    }
    if (terminal_ && seconds >= kLineAfter) {
      std::fprintf(stderr, "\r%s … %d s", what_.c_str(), seconds);
    }
    std::fflush(stderr);
  }
  if (terminal_) std::fprintf(stderr, "\r\033[K");
  std::fflush(stderr);
}

}  // namespace ripeline::cli
