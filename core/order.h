// Orders as arbiters use them: how an order is written, committed to, and followed as a preference.
//
// An order is a sequence of tasks of one rank. In a program's text it is a sequence of lanes, and
// each occurrence of a lane stands for its next microbatch; a file names the microbatches. Memory
// is allocated only while the order is written, before the step's first task; one thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/facts.h"
#include "core/task.h"

namespace ripeline::core {

// Collects one rank's order.
class OrderWriter {
 public:
  // The facts must outlive this object.
  OrderWriter(const ProgramFacts& facts, int rank, int microbatches);

  // Appends the next microbatch of the lane of `op` at `chunk`, if there is such a lane. If the
  // order lists the lane more often than the lane has tasks, that microbatch is beyond the last.
  void add(int op, std::int64_t chunk);
  void add(Task task) { tasks_.push_back(task); }
  // Whether the lane exists and has a microbatch that is not listed yet.
  [[nodiscard]] bool has_left(int op, std::int64_t chunk) const;

  [[nodiscard]] const std::vector<Task>& tasks() const { return tasks_; }

 private:
  [[nodiscard]] LaneId lane(int op, std::int64_t chunk) const;

  const ProgramFacts& facts_;
  int microbatches_;
  LaneSpan own_;
  int chunks_ = 0;
  std::vector<LaneId> lanes_;         // by chunk, then op; -1 where there is none
  std::vector<std::int32_t> listed_;  // per own lane: how often it is listed so far
  std::vector<Task> tasks_;
};

// The next task of each engine of a rank whose starts must keep to an order.
class CommittedOrder {
 public:
  // Forgets the previous order.
  void reset(const ProgramFacts& facts, std::span<const Task> tasks);

  // The next task; lane -1 at the end. An order that lists microbatches beyond the last never ends.
  [[nodiscard]] Task next(Engine engine) const {
    const Places& its = engines_[static_cast<std::size_t>(engine)];
    return its.next < its.tasks.size() ? its.tasks[its.next] : Task{};
  }
  void started(Engine engine) { ++engines_[static_cast<std::size_t>(engine)].next; }

 private:
  struct Places {
    std::vector<Task> tasks;
    std::size_t next = 0;
  };
  std::array<Places, kEngines> engines_;
};

// For each lane, the place of its next occurrence in the order.
class FollowedOrder {
 public:
  // `lanes` are the rank's lanes. The overload without `tasks` is for a program without an order.
  void reset(LaneSpan lanes);
  void reset(LaneSpan lanes, std::span<const Task> tasks);

  // The place of the lane's next occurrence; kNoPlace if none is left.
  [[nodiscard]] int next_place(LaneId lane) const {
    const Lane& l = lanes_[static_cast<std::size_t>(lane - first_lane_)];
    return l.started < l.places.size() ? l.places[l.started] : kNoPlace;
  }
  // The place of the lane's occurrence that is `ahead` after its next; kNoPlace if there is none.
  [[nodiscard]] int place(LaneId lane, std::size_t ahead) const {
    const Lane& l = lanes_[static_cast<std::size_t>(lane - first_lane_)];
    return l.started + ahead < l.places.size() ? l.places[l.started + ahead] : kNoPlace;
  }
  void started(LaneId lane) { ++lanes_[static_cast<std::size_t>(lane - first_lane_)].started; }

 private:
  struct Lane {
    std::vector<int> places;
    std::size_t started = 0;
  };
  LaneId first_lane_ = 0;
  std::vector<Lane> lanes_;
};

// The tasks of an order from a file that have not started; the hint follows this order.
class FollowedTasks {
 public:
  void reset(std::span<const Task> tasks);
  // The tasks that are left, in order; some of them may have started and hence are not ready.
  [[nodiscard]] std::span<const Task> left() const { return std::span(tasks_).subspan(begin_); }
  void started(Task task);

 private:
  std::vector<Task> tasks_;
  std::vector<bool> started_;
  std::size_t begin_ = 0;  // all tasks before it have started
};

// A sequence of lanes with counts, from which the places of an order are taken.
class OrderStream {
 public:
  void add(int op, std::int64_t chunk, std::int64_t count) {
    if (count > 0) items_.push_back({op, chunk, count});
  }
  // Writes the next item whose lane has a microbatch left; writes nothing once none is left.
  void take(OrderWriter& order);

 private:
  struct Items {
    int op = 0;
    std::int64_t chunk = 0;
    std::int64_t count = 0;
  };
  std::vector<Items> items_;
  std::size_t at_ = 0;
};

// Operations of expressions that C++ lacks: `div` and `%`, which round down, and ceil(a / b).
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
