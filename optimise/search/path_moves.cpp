// The external interface is PathMoves. A move rotates a short range of a row by one position.
#include "optimise/search/path_moves.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace ripeline::optimise {
namespace {

constexpr std::uint32_t kMostShift = 8;  // the most positions by which a task moves

std::uint32_t number(std::size_t i) { return static_cast<std::uint32_t>(i); }

}  // namespace

PathMoves::PathMoves(const Model& model, Objective objective, const Rows& rows, std::uint64_t seed)
    : random_(seed), takes_(model.takes) {
  for (const int lane : model.lane_of) lane_of_.push_back(static_cast<std::uint32_t>(lane));
  for (const Model::Machine& machine : model.machines) {
    row_.push_back(number(machine_of_.size()));
    machine_of_.insert(machine_of_.end(), static_cast<std::size_t>(machine.tasks),
                       number(row_.size() - 1));
    if (machine.rank < 0) {
      tail_of_.push_back(kLongAgo);
    } else {
      tail_of_.push_back(objective == Objective::span ? -at(model.begin_of, machine.rank) : 0);
    }
  }
  row_.push_back(number(machine_of_.size()));
  add_arcs(model);
  add_pools(model);
  const std::size_t tasks = takes_.size();
  order_.resize(tasks);
  held_.resize(tasks * stride_);
  start_.assign(tasks, 0);
  tail_.assign(tasks, 0);
  nearby_.resize(tasks);
  position_of_.resize(tasks);
  sorted_.resize(tasks);
  sorted_at_.resize(tasks);
  is_marked_.assign(tasks, 0);
  done_.assign(model.machines.size(), 0);
  end_.assign(model.machines.size(), 0);
  start(rows);
}

void PathMoves::add_arcs(const Model& model) {
  for (int task = 0; task < model.tasks(); ++task) {
    first_need_.push_back(number(needs_.size()));
    first_feed_.push_back(number(feeds_.size()));
    first_near_.push_back(number(near_.size()));
    for (const Model::Arc& arc : model.needs_of(task)) {
      needs_.push_back({static_cast<Task>(arc.task), at(model.takes, arc.task) + arc.lag});
    }
    for (const Model::Arc& arc : model.feeds_of(task)) {
      feeds_.push_back({static_cast<Task>(arc.task), at(model.takes, arc.task) + arc.lag});
    }
    for (const int other : model.after(task)) near_.push_back(static_cast<Task>(other));
  }
  first_need_.push_back(number(needs_.size()));
  first_feed_.push_back(number(feeds_.size()));
  first_near_.push_back(number(near_.size()));
}

void PathMoves::add_pools(const Model& model) {
  for (const Model::Machine& machine : model.machines) {
    stride_ = std::max(stride_, machine.pools.size());
    pools_of_.push_back(number(machine.pools.size()));
  }
  uses_.resize(model.lanes.size() * stride_);
  capacity_.resize(model.machines.size() * stride_);
  for (std::size_t m = 0; m < model.machines.size(); ++m) {
    const Model::Machine& machine = model.machines[m];
    for (std::size_t k = 0; k < machine.pools.size(); ++k) {
      const Model::Pool& pool = at(model.pools, machine.pools[k]);
      capacity_[m * stride_ + k] = pool.capacity;
      for (const int lane : machine.lanes) {
        const Model::Use& use = at(pool.uses, lane);
        uses_[static_cast<std::size_t>(lane) * stride_ + k] = {
            use.acquires, use.acquires > 0 ? use.asks : 0, use.acquires - use.releases};
      }
    }
  }
}

void PathMoves::start(const Rows& rows) {
  std::vector<Task> next(
      lane_of_.empty() ? 0 : *std::max_element(lane_of_.begin(), lane_of_.end()) + 1);
  for (std::size_t task = takes_.size(); task-- > 0;) next[lane_of_[task]] = number(task);
  for (std::size_t m = 0; m < rows.size(); ++m) {
    Position position = row_[m];
    for (const int lane : rows[m]) order_[position++] = next[static_cast<std::size_t>(lane)]++;
    if (position > row_[m]) settle(row_[m], position - 1);
  }
  std::iota(sorted_at_.begin(), sorted_at_.end(), std::size_t{0});
  const Window all{0, sorted_.size()};
  sort(all);
  find_tails(all);
  value_ = value_now();
  best_ = value_;
  best_order_ = order_;
}

Rows PathMoves::rows_of(const std::vector<Task>& order) const {
  Rows rows(row_.size() - 1);
  for (std::size_t position = 0; position < order.size(); ++position) {
    rows[machine_of_[position]].push_back(static_cast<int>(lane_of_[order[position]]));
  }
  return rows;
}

void PathMoves::run(std::int64_t moves, double temperature) {
  constexpr std::uint64_t kFine = 1U << 20U;
  if (order_.empty()) return;
  for (std::int64_t i = 0; i < moves; ++i) {
    auto position = static_cast<Position>(random_.draw(order_.size()));
    for (std::size_t looks = 0; !is_movable(position); ++looks) {
      if (looks == 64 * order_.size()) return;
      position = static_cast<Position>(random_.draw(order_.size()));
    }
    const double chance =
        (static_cast<double>(random_.draw(kFine)) + 1.0) / static_cast<double>(kFine);
    const auto worse = static_cast<Time>(-temperature * std::log(chance));
    const std::uint32_t machine = machine_of_[position];
    const auto by = static_cast<Position>(random_.draw(kMostShift)) + 1;
    if (random_.draw(2) == 0) {
      if (position - row_[machine] >= by) try_shift(position, position - by, value_ + worse);
    } else {
      if (position - 1 + by < row_[machine + 1]) {
        try_shift(position - 1, position - 1 + by, value_ + worse);
      }
    }
    if (value_ < best_) {
      best_ = value_;
      best_order_ = order_;
    }
  }
}

// Whether the task is on the critical path and starts right when its machine's previous task ends.
bool PathMoves::is_movable(Position position) const {
  const Task task = order_[position];
  return start_[task] + takes_[task] + tail_[task] == value_ &&
         position != row_[machine_of_[position]] && end_before(position) == start_[task];
}

Time PathMoves::value_now() const {
  Time value = 0;
  for (std::size_t m = 0; m + 1 < row_.size(); ++m) {
    if (row_[m] == row_[m + 1]) continue;
    const Task last = order_[row_[m + 1] - 1];
    value = std::max(value, start_[last] + takes_[last] + tail_of_[m]);
  }
  return value;
}

// Whether the adjacent tasks `first` and `second`, in this order, may change places.
bool PathMoves::may_pass(Task first, Task second) const {
  if (lane_of_[first] == lane_of_[second]) return false;
  for (std::uint32_t i = first_near_[second]; i < first_near_[second + 1]; ++i) {
    if (near_[i] == first) return false;
  }
  return true;
}

// Whether all tasks have room if the task at `moved` moves to `to`, past those in [first, end).
bool PathMoves::has_room(Position first, Position end, Position moved, Position to) const {
  const std::uint32_t machine = machine_of_[moved];
  const bool earlier = to < moved;
  for (std::size_t k = 0; k < pools_of_[machine]; ++k) {
    const std::int64_t capacity = capacity_[machine * stride_ + k];
    const Use& use = uses_[lane_of_[order_[moved]] * stride_ + k];
    const std::int64_t more = earlier ? use.net : -use.net;  // extra held for the others
    if (more > 0) {
      for (Position position = first; position < end; ++position) {
        const Use& other = uses_[lane_of_[order_[position]] * stride_ + k];
        if (other.asks > 0 && held_[position * stride_ + k] + more + other.asks > capacity) {
          return false;
        }
      }
    }
    if (use.asks == 0) continue;
    std::int64_t held = held_[to * stride_ + k];
    if (!earlier) held += uses_[lane_of_[order_[to]] * stride_ + k].net - use.net;
    if (held + use.asks > capacity) return false;
  }
  return true;
}

bool PathMoves::try_shift(Position from, Position to, Time limit) {
  if (!shift(from, to)) return false;
  const Position first = std::min(from, to);
  const Position last = std::max(from, to);
  if (estimate(first, last) > limit) {
    shift(to, from);
    return false;
  }
  const Window window{sorted_at_[first], sorted_at_[last] + 1};
  const bool sorted = sort(window);
  if (!sorted) {
    shift(to, from);
    sort(window);
  }
  if (last + 1 < row_[machine_of_[last] + 1]) mark(last + 1);
  find_starts_after(window);
  if (!sorted) return false;
  find_tails(window);
  if (first > row_[machine_of_[first]]) mark(first - 1);
  find_tails_before(window);
  value_ = value_now();
  return true;
}

// Moves the task if the tasks that it passes and the memory allow it; returns whether it moved.
bool PathMoves::shift(Position from, Position to) {
  const Task moved = order_[from];
  const bool earlier = to < from;
  const Position first = earlier ? to : from + 1;
  const Position end = earlier ? from : to + 1;
  for (Position position = first; position < end; ++position) {
    const Task other = order_[position];
    if (!(earlier ? may_pass(other, moved) : may_pass(moved, other))) return false;
  }
  if (stride_ > 0 && !has_room(first, end, from, to)) return false;
  const auto position = [&](Position p) { return order_.begin() + static_cast<std::ptrdiff_t>(p); };
  if (earlier) {
    std::rotate(position(to), position(from), position(from) + 1);
  } else {
    std::rotate(position(from), position(from) + 1, position(to) + 1);
  }
  settle(std::min(from, to), std::max(from, to));
  return true;
}

// Updates task positions and held amounts in a range of a row; held_ at `first` must be correct.
void PathMoves::settle(Position first, Position last) {
  for (Position position = first; position <= last; ++position)
    position_of_[order_[position]] = position;
  const std::size_t pools = pools_of_[machine_of_[first]];
  for (std::size_t k = 0; k < pools; ++k) {
    std::int64_t held = held_[first * stride_ + k];
    for (Position position = first; position <= last; ++position) {
      held_[position * stride_ + k] = held;
      held += uses_[lane_of_[order_[position]] * stride_ + k].net;
    }
  }
}

// Estimates the longest path through the tasks of a range. Assumes that arrivals from other
// machines, and paths from these tasks to the end, did not change in the move.
Time PathMoves::estimate(Position first, Position last) {
  Time now = end_before(first);
  for (Position position = first; position <= last; ++position) {
    const Task task = order_[position];
    now = std::max(now, arrival(task));
    nearby_[position] = now;
    now += takes_[task];
  }
  Time tail = tail_before(last);
  Time longest = 0;
  for (Position position = last + 1; position-- > first;) {
    const Task task = order_[position];
    tail = std::max(tail, way_on(task)) + takes_[task];
    longest = std::max(longest, nearby_[position] + tail);
  }
  return longest;
}

// Sorts the positions in a window again, and computes the starts of their tasks. Other positions
// keep their index, since only tasks of the window have new predecessors. Returns false if machines
// deadlock.
bool PathMoves::sort(const Window& window) {
  const std::size_t machines = row_.size() - 1;
  for (std::size_t m = 0; m < machines; ++m) {
    const auto all = sorted_at_.begin();
    const auto begin = std::lower_bound(all + row_[m], all + row_[m + 1], window.begin);
    done_[m] = number(static_cast<std::size_t>(begin - all));
    end_[m] = number(
        static_cast<std::size_t>(std::lower_bound(begin, all + row_[m + 1], window.end) - all));
  }
  std::size_t sorted = window.begin;
  bool forwards = true;
  for (bool goes = true; std::exchange(goes, false); forwards = !forwards) {
    for (std::size_t i = 0; i < machines; ++i) {
      const std::size_t m = forwards ? i : machines - 1 - i;
      Position position = done_[m];
      for (; position < end_[m]; ++position) {
        const Task task = order_[position];
        const bool waits = std::any_of(
            needs_.begin() + first_need_[task], needs_.begin() + first_need_[task + 1],
            [&](const Arc& need) {
              const Position before = position_of_[need.task];
              return before >= done_[machine_of_[before]] && before < end_[machine_of_[before]];
            });
        if (waits) break;
        sorted_at_[position] = sorted;
        sorted_[sorted++] = position;
        find_start(position, window.end);
        done_[m] = position + 1;
        goes = true;
      }
    }
  }
  return sorted == window.end;
}

// Computes a task's start. If it changes, marks the successors with sorted indices >= marked_from.
void PathMoves::find_start(Position position, std::size_t marked_from) {
  ++work_;
  const Task task = order_[position];
  const Time start = std::max(end_before(position), arrival(task));
  if (start_[task] == start) return;
  start_[task] = start;
  const auto mark_later = [&](Position later) {
    if (sorted_at_[later] >= marked_from) mark(later);
  };
  if (position + 1 < row_[machine_of_[position] + 1]) mark_later(position + 1);
  for (std::uint32_t i = first_feed_[task]; i < first_feed_[task + 1]; ++i) {
    mark_later(position_of_[feeds_[i].task]);
  }
}

// Computes a task's tail. If it changes, marks the predecessors whose sorted indices are below
// `marked_to`.
void PathMoves::find_tail(Position position, std::size_t marked_to) {
  ++work_;
  const Task task = order_[position];
  const Time tail = std::max(tail_before(position), way_on(task));
  if (tail_[task] == tail) return;
  tail_[task] = tail;
  const auto mark_earlier = [&](Position earlier) {
    if (sorted_at_[earlier] < marked_to) mark(earlier);
  };
  if (position > row_[machine_of_[position]]) mark_earlier(position - 1);
  for (std::uint32_t i = first_need_[task]; i < first_need_[task + 1]; ++i) {
    mark_earlier(position_of_[needs_[i].task]);
  }
}

void PathMoves::find_tails(const Window& window) {
  for (std::size_t i = window.end; i-- > window.begin;) find_tail(sorted_[i], window.begin);
}

void PathMoves::find_starts_after(const Window& window) {
  for (std::size_t i = window.end; marked_ > 0; ++i) {
    if (unmark(i)) find_start(sorted_[i], i);
  }
}

void PathMoves::find_tails_before(const Window& window) {
  for (std::size_t i = window.begin; marked_ > 0;) {
    if (unmark(--i)) find_tail(sorted_[i], i);
  }
}

void PathMoves::mark(Position position) {
  char& is_marked = is_marked_[sorted_at_[position]];
  if (is_marked == 0) ++marked_;
  is_marked = 1;
}

bool PathMoves::unmark(std::size_t sorted_index) {
  if (is_marked_[sorted_index] == 0) return false;
  is_marked_[sorted_index] = 0;
  --marked_;
  return true;
}

}  // namespace ripeline::optimise
