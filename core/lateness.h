// Lateness: how much later than expected recent messages arrived, as a forecast for the next.
//
// A window of the last arrivals, kept sorted. A value; allocates no memory.
#pragma once

#include <array>
#include <cstddef>

#include "core/task.h"

namespace ripeline::core {

class Lateness {
 public:
  void add(Time late);
  // True once enough arrivals were seen to judge by.
  [[nodiscard]] bool known() const { return count_ >= kEnough; }
  // The lateness until which to wait for a message that is `late` by now (below 0 if not due yet).
  // Waiting pays while at least half of the seen latenesses above the current one are within `next`
  // of it. Returns `late` if waiting does not pay; beyond the greatest seen one, at least `unseen`.
  [[nodiscard]] Time worth(Time late, Time next, Time unseen) const;

 private:
  static constexpr std::size_t kWindow = 128;
  static constexpr std::size_t kEnough = 8;

  std::array<Time, kWindow> seen_{};    // the last latenesses, as a ring
  std::array<Time, kWindow> sorted_{};  // the same, the least first
  std::size_t count_ = 0;
  std::size_t oldest_ = 0;
};

}  // namespace ripeline::core
