// Orders as generated arbiters use them: one that is committed to, and one that is followed
// loosely.
//
// An order is a sequence of lanes of one rank; each occurrence takes its lane's next microbatch; a
// place without a lane (-1) is left out. Memory is taken while it is written, before the step's
// first task; one thread.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/task.h"

namespace ripeline::core {

// What a rank does next, and nothing else.
class CommittedOrder {
 public:
  // Forgets the order before; the rank's lanes are first_lane .. end_lane - 1.
  void reset(LaneId first_lane, LaneId end_lane);
  void add(LaneId lane);

  // Lane -1 at the end. The microbatch may lie beyond the last one if the order has more places
  // than there are tasks; it never ends then.
  [[nodiscard]] Task next() const { return place_ < tasks_.size() ? tasks_[place_] : Task{}; }
  void started() { ++place_; }

 private:
  LaneId first_lane_ = 0;
  std::vector<std::int32_t> listed_;  // per lane: its occurrences so far
  std::vector<Task> tasks_;
  std::size_t place_ = 0;
};

// Where each lane's next occurrence stands.
class FollowedOrder {
 public:
  static constexpr int kNoPlace = std::numeric_limits<int>::max();

  void reset(LaneId first_lane, LaneId end_lane);
  void add(LaneId lane);

  // kNoPlace if the lane has none left.
  [[nodiscard]] int next_place(LaneId lane) const {
    const Lane& l = lanes_[static_cast<std::size_t>(lane - first_lane_)];
    return l.started < l.places.size() ? l.places[l.started] : kNoPlace;
  }
  void started(LaneId lane) { ++lanes_[static_cast<std::size_t>(lane - first_lane_)].started; }

 private:
  struct Lane {
    std::vector<int> places;
    std::size_t started = 0;
  };
  LaneId first_lane_ = 0;
  std::vector<Lane> lanes_;
  int length_ = 0;
};

// What the expressions of an order need beyond C++: `div` and `%` round down, and ceil(a / b).
[[nodiscard]] constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 && (a < 0) == (b < 0) ? 1 : 0);
}
[[nodiscard]] constexpr std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  return a - b * floor_div(a, b);
}

}  // namespace ripeline::core
