// Orders as generated arbiters use them: one that is committed to, and one that is followed
// loosely.
//
// An order is a sequence of lanes of one rank; each occurrence takes its lane's next microbatch; a
// place without a lane (-1) is left out. An order from a file is a sequence of tasks. Memory is
// taken while it is written, before the step's first task; one thread.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/facts.h"
#include "core/task.h"

namespace ripeline::core {

// What a rank does next, and nothing else.
class CommittedOrder {
 public:
  // Forgets the order before; the rank's lanes are first_lane .. end_lane - 1.
  void reset(LaneId first_lane, LaneId end_lane);
  void add(LaneId lane) {
    if (lane >= 0) add({lane, listed_[static_cast<std::size_t>(lane - first_lane_)]++});
  }
  void add(Task task) { tasks_.push_back(task); }
  // Whether the lane, if there is one (not -1), has a microbatch that is not listed yet.
  [[nodiscard]] bool has_left(LaneId lane, int microbatches) const {
    return lane >= 0 && listed_[static_cast<std::size_t>(lane - first_lane_)] < microbatches;
  }

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

// What each engine of a rank does next, of one order for all of them.
class CommittedOrders {
 public:
  void reset(const ProgramFacts& facts, LaneId first_lane, LaneId end_lane);
  void add(LaneId lane) {
    if (lane >= 0) of(lane).add(lane);
  }
  void add(Task task) { of(task.lane).add(task); }
  [[nodiscard]] bool has_left(LaneId lane, int microbatches) const {
    return lane >= 0 && orders_[engine_of(lane)].has_left(lane, microbatches);
  }

  [[nodiscard]] Task next(Engine engine) const {
    return orders_[static_cast<std::size_t>(engine)].next();
  }
  void started(LaneId lane) { of(lane).started(); }

 private:
  [[nodiscard]] std::size_t engine_of(LaneId lane) const {
    return static_cast<std::size_t>(facts_->lanes[static_cast<std::size_t>(lane)].engine);
  }
  [[nodiscard]] CommittedOrder& of(LaneId lane) { return orders_[engine_of(lane)]; }

  const ProgramFacts* facts_ = nullptr;
  std::array<CommittedOrder, kEngines> orders_;
};

// Where each lane's next occurrence stands.
class FollowedOrder {
 public:
  static constexpr int kNoPlace = std::numeric_limits<int>::max();

  void reset(LaneId first_lane, LaneId end_lane);
  void add(LaneId lane);
  [[nodiscard]] bool has_left(LaneId lane, int microbatches) const {
    return lane >= 0 && lanes_[static_cast<std::size_t>(lane - first_lane_)].places.size() <
                            static_cast<std::size_t>(microbatches);
  }

  // kNoPlace if the lane has none left.
  [[nodiscard]] int next_place(LaneId lane) const {
    const Lane& l = lanes_[static_cast<std::size_t>(lane - first_lane_)];
    return l.started < l.places.size() ? l.places[l.started] : kNoPlace;
  }
  // The place of the occurrence that is `ahead` beyond the next one; kNoPlace.
  [[nodiscard]] int place(LaneId lane, std::size_t ahead) const {
    const Lane& l = lanes_[static_cast<std::size_t>(lane - first_lane_)];
    return l.started + ahead < l.places.size() ? l.places[l.started + ahead] : kNoPlace;
  }
  // Of the lanes for which `may` holds, the one whose next place is earliest; -1: none has one.
  template <class May>
  [[nodiscard]] LaneId earliest(const May& may) const {
    LaneId best = -1;
    int place = kNoPlace;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const LaneId lane = first_lane_ + static_cast<LaneId>(i);
      if (next_place(lane) >= place || !may(lane)) continue;
      best = lane;
      place = next_place(lane);
    }
    return best;
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

// An order from a file, followed: its tasks, without those that have started.
class FollowedTasks {
 public:
  void reset(LaneId first_lane, LaneId end_lane);
  void add(Task task);
  // In order; those that started are among them as tasks that are not ready.
  [[nodiscard]] std::span<const Task> left() const { return std::span(tasks_).subspan(begin_); }
  void started(Task task);

 private:
  std::vector<Task> tasks_;
  std::vector<bool> started_;
  std::size_t begin_ = 0;  // all before have started
};

// A sequence to take places of an order from.
class OrderStream {
 public:
  void add(int op, std::int64_t chunk, std::int64_t count) {
    if (count > 0) items_.push_back({op, chunk, count});
  }
  // Calls `then(op, chunk)` for the next item for which `left(op, chunk)` says that its lane has a
  // microbatch left; for none at the end.
  template <class Then, class Left>
  void take(const Then& then, const Left& left) {
    for (; at_ < items_.size(); ++at_) {
      Items& items = items_[at_];
      if (items.count == 0 || !left(items.op, items.chunk)) continue;
      --items.count;
      then(items.op, items.chunk);
      return;
    }
  }

 private:
  struct Items {
    int op = 0;
    std::int64_t chunk = 0;
    std::int64_t count = 0;
  };
  std::vector<Items> items_;
  std::size_t at_ = 0;
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
