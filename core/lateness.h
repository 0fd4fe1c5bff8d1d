// Lateness: how much later than expected recent messages arrived, as a forecast for the next one.
//
// It keeps a window of the last arrivals, sorted. A value; allocates no memory.
#pragma once

#include <array>
#include <cstddef>

#include "core/task.h"

namespace ripeline::core {

class Lateness {
 public:
  void add(Time late);
  // True once enough arrivals have been seen for a forecast.
  [[nodiscard]] bool known() const { return count_ >= kEnough; }
  // The lateness until which to wait for a message that is `late` now (below 0 if it is not due).
  // Waiting pays while half or more of the seen latenesses above the current one exceed it by at
  // most `next`. Returns `late` if waiting does not pay; beyond the greatest, at least `unseen`.
  [[nodiscard]] Time worth(Time late, Time next, Time unseen) const;

 private:
  static constexpr std::size_t kWindow = 128;
  static constexpr std::size_t kEnough = 8;

  std::array<Time, kWindow> seen_{};    // the last latenesses, as a ring
  std::array<Time, kWindow> sorted_{};  // the same latenesses, sorted
  std::size_t count_ = 0;
  std::size_t oldest_ = 0;
};

}  // namespace ripeline::core
