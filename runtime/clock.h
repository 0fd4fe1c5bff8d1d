// RankClock: the time as one rank counts it.
//
// The time is that of the host's monotonic clock, which the ranks of one host share. An emulated
// device may subtract the time by which a wait overshot, so that a late timer delays nothing: after
// woke(due) the clock continues from `due`. If every wait is for a time in the future, the clock
// never goes back. A clock is used by one thread.
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
  // Sets the clock to `due`. Called at the end of a wait until `due`, or of an event due then.
  void woke(core::Time due) { late_ = std::max(core::Time{0}, host() - due); }
  // How far this clock is behind the clock of the host.
  [[nodiscard]] core::Time late() const { return late_; }

 private:
  core::Time late_{0};
};

}  // namespace ripeline::runtime
