#include "runtime/watchdog/last_wait.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "runtime/duration.h"
#include "runtime/exit_code.h"

namespace ripeline::runtime::watchdog {

LastWait::LastWait(std::string what, std::chrono::nanoseconds limit) {
  thread_ = std::thread([this, what = std::move(what), limit] {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, limit, [this] { return over_; })) return;
    std::fprintf(stderr, "ripeline: %s has not ended for %s: the process ends without it\n",
                 what.c_str(), seconds_text(limit).c_str());
    _exit(exit_code_of(core::StatusCode::timeout));
  });
}

LastWait::~LastWait() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

}  // namespace ripeline::runtime::watchdog
