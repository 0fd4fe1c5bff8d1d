// Local search on an order: tasks on the critical path change places with others of their machine.
//
// A move shifts a task of the path to an earlier position, or shifts the task before it to a later
// one. The new order is accepted if it takes no longer and, by simulated annealing, sometimes if it
// takes longer. First, a move is estimated from the few tasks around it and from the longest paths
// before and after them, as they were before the move; this rules out most moves. For other moves,
// these paths are computed again where they change. By span, a rank's time counts from the earliest
// time at which it can begin. Deterministic for a seed and a number of moves. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "optimise/model.h"
#include "optimise/search/random.h"
#include "optimise/uniform.h"

namespace ripeline::optimise {

class PathMoves {
 public:
  // `rows` must be a legal order. The model must outlive this object.
  PathMoves(const Model& model, Objective objective, const Rows& rows, std::uint64_t seed);

  // Tries `moves` moves at this temperature, which is in the unit of the model's times.
  void run(std::int64_t moves, double temperature);

  // best_rows() is the best order so far, best() its time in the model, rows() the current order.
  [[nodiscard]] Time best() const { return best_; }
  [[nodiscard]] Rows best_rows() const { return rows_of(best_order_); }
  // The number of tasks that were looked at. It measures the effort without a clock.
  [[nodiscard]] std::int64_t work() const { return work_; }
  [[nodiscard]] Rows rows() const { return rows_of(order_); }

 private:
  using Position = std::uint32_t;  // tasks are in one array, machine after machine
  using Task = std::uint32_t;

  // A lane's use of one pool of its machine.
  struct Use {
    std::int64_t acquires = 0;
    std::int64_t asks = 0;  // 0 if the lane needs no room
    std::int64_t net = 0;   // how much more is held after a task than before
  };
  struct Arc {
    Task task = 0;   // the task at the other end
    Time delay = 0;  // in needs_: from that task's start; in feeds_: to that task's end
  };

  // A range of indices in the sorted order.
  struct Window {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  void add_arcs(const Model& model);
  void add_pools(const Model& model);
  void start(const Rows& rows);
  [[nodiscard]] Rows rows_of(const std::vector<Task>& order) const;

  [[nodiscard]] Time arrival(Task task) const {
    Time latest = 0;
    for (std::uint32_t i = first_need_[task]; i < first_need_[task + 1]; ++i) {
      latest = std::max(latest, start_[needs_[i].task] + needs_[i].delay);
    }
    return latest;
  }
  [[nodiscard]] Time way_on(Task task) const {
    Time longest = kLongAgo;
    for (std::uint32_t i = first_feed_[task]; i < first_feed_[task + 1]; ++i) {
      longest = std::max(longest, tail_[feeds_[i].task] + feeds_[i].delay);
    }
    return longest;
  }
  [[nodiscard]] Time end_before(Position position) const {
    if (position == row_[machine_of_[position]]) return 0;
    const Task before = order_[position - 1];
    return start_[before] + takes_[before];
  }
  [[nodiscard]] Time tail_before(Position position) const {
    const Position next = position + 1;
    const std::uint32_t machine = machine_of_[position];
    return next == row_[machine + 1] ? tail_of_[machine]
                                     : takes_[order_[next]] + tail_[order_[next]];
  }
  [[nodiscard]] Time value_now() const;
  [[nodiscard]] bool is_movable(Position position) const;
  [[nodiscard]] bool may_pass(Task first, Task second) const;
  [[nodiscard]] bool has_room(Position first, Position end, Position moved, Position to) const;
  bool shift(Position from, Position to);
  void settle(Position first, Position last);
  [[nodiscard]] Time estimate(Position first, Position last);
  bool sort(const Window& window);
  void find_start(Position position, std::size_t marked_from);
  void find_tail(Position position, std::size_t marked_to);
  void find_tails(const Window& window);
  // Compute the starts, or the tails, of all marked tasks again. This may mark more tasks.
  void find_starts_after(const Window& window);
  void find_tails_before(const Window& window);
  void mark(Position position);
  bool unmark(std::size_t sorted_index);  // returns whether it was marked
  bool try_shift(Position from, Position to, Time limit);

  static constexpr Time kLongAgo = INT64_MIN / 4;

  Random random_;
  std::vector<std::uint32_t> lane_of_;  // per task, as are the next four
  std::vector<Time> takes_;
  std::vector<std::uint32_t> first_need_;  // per task and one past the last, as the next two
  std::vector<std::uint32_t> first_feed_;
  std::vector<std::uint32_t> first_near_;
  std::vector<Arc> needs_;
  std::vector<Arc> feeds_;
  std::vector<Task> near_;
  std::vector<Position> row_;  // per machine: the first position of its row; and one past the last
  std::vector<Time> tail_of_;  // per machine: the last task's tail; by span, minus the rank's begin
  std::size_t stride_ = 0;     // the most pools of a machine
  std::vector<Use> uses_;      // lane * stride_ + pool of its machine
  std::vector<std::int64_t> capacity_;   // machine * stride_ + pool
  std::vector<std::uint32_t> pools_of_;  // per machine: the number of its pools

  std::vector<std::uint32_t> machine_of_;  // per position
  std::vector<Task> order_;                // per position
  std::vector<std::int64_t> held_;         // position * stride_ + pool: held before that position
  std::vector<Time> start_;                // per task: its earliest start
  std::vector<Time> tail_;                 // per task: the longest path from its end to the end
  std::vector<Position> position_of_;      // per task
  std::vector<std::size_t> sorted_at_;     // per position: its index in an order with needs first
  std::vector<Position> sorted_;
  std::vector<char>
      is_marked_;           // per index in sorted_: whether its start or tail must be found again
  std::size_t marked_ = 0;  // how many are marked
  std::vector<Position>
      done_;  // per machine, in a window: the first position that is not sorted yet
  std::vector<Position> end_;  // per machine: where the window ends
  std::vector<Time> nearby_;   // starts in an estimate
  std::int64_t work_ = 0;
  Time value_ = 0;
  Time best_ = 0;
  std::vector<Task> best_order_;
};

}  // namespace ripeline::optimise
