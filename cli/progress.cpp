#include "cli/progress.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

namespace ripeline::cli {

Progress::Progress(std::string what) {
  if (isatty(STDERR_FILENO) == 1) {
    thread_ = std::thread([this, text = std::move(what)] { show(text); });
  }
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

void Progress::show(const std::string& what) {
  std::unique_lock lock(mutex_);
  const auto has_ended = [this] { return ended_; };
  if (ended_signal_.wait_for(lock, std::chrono::seconds(2), has_ended)) return;
  int seconds = 2;
  do {
    std::fprintf(stderr, "\r%s … %d s", what.c_str(), seconds++);
    std::fflush(stderr);
  } while (!ended_signal_.wait_for(lock, std::chrono::seconds(1), has_ended));
  std::fprintf(stderr, "\r\033[K");
  std::fflush(stderr);
}

}  // namespace ripeline::cli
