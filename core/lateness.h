// Lateness: how much later than expected the last messages came, and what that says of the next.
//
// A window of the last arrivals, kept in order. A value; takes no memory beyond itself.
#pragma once

#include <array>
#include <cstddef>

#include "core/task.h"

namespace ripeline::core {

class Lateness {
 public:
  void add(Time late);
  // Enough was seen to judge by.
  [[nodiscard]] bool known() const { return count_ >= kEnough; }
  // A message is `late`, below 0 when it is not due yet. The lateness up to which it is worth to
  // wait: as long as, of those seen that were later, half or more came within `next` from then;
  // `late` itself: it is not worth it. Beyond the latest seen: up to `unseen`.
  [[nodiscard]] Time worth(Time late, Time next, Time unseen) const;

 private:
  static constexpr std::size_t kWindow = 128;
  static constexpr std::size_t kEnough = 8;

  std::array<Time, kWindow> seen_{};    // as a ring
  std::array<Time, kWindow> sorted_{};  // the same, the earliest first
  std::size_t count_ = 0;
  std::size_t oldest_ = 0;
};

}  // namespace ripeline::core
