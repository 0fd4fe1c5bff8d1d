// RankClock: the time as one rank counts it.
//
// The host's monotonic clock; the ranks of one host share it. Who emulates a device may leave out
// of it what a wait overshot, so that a late timer delays nothing: woke(due) puts the clock back to
// the time that was waited for, and it runs on from there. It never goes back behind a time that it
// has told, as long as only times to come are waited for. One thread.
#pragma once

#include <algorithm>
#include <chrono>

#include "core/task.h"

namespace ripeline::runtime {

class RankClock {
 public:
  [[nodiscard]] static core::Time host() {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
  [[nodiscard]] core::Time now() const { return host() - late_; }
  // Something that was due at `due`, or the wait for it, has ended.
  void woke(core::Time due) { late_ = std::max(core::Time{0}, host() - due); }
  // How far it is behind the host's.
  [[nodiscard]] core::Time late() const { return late_; }

 private:
  core::Time late_{0};
};

}  // namespace ripeline::runtime
