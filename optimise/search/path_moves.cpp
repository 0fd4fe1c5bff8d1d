// The external interface is PathMoves. All tasks stand in one array, rank after rank; a move turns
// a short range of it by one.
#include "optimise/search/path_moves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace ripeline::optimise {
namespace {

constexpr std::int64_t kMostPlaces = 8;  // that a task moves

constexpr std::int64_t kLongAgo = std::numeric_limits<std::int64_t>::min() / 4;

constexpr std::size_t kind_of(Lane lane) { return lane % kUp; }

}  // namespace

PathMoves::PathMoves(const Uniform& uniform, Objective objective, const ShortRows& rows,
                     std::uint64_t seed)
    : ranks_(static_cast<std::size_t>(uniform.ranks)),
      count_(static_cast<std::size_t>(uniform.microbatches)),
      size_(rows.front().size()),
      stages_(ranks_ * static_cast<std::size_t>(chunks_of(uniform))),
      memory_(uniform.memory),
      latency_(uniform.latency),
      random_(seed),
      no_number_(static_cast<Number>(2 * stages_ * count_)),
      nowhere_(static_cast<Place>(ranks_ * size_)) {
  for (std::size_t lane = 0; lane < kMostLanes; lane += kUp) {
    cost_[lane + kForward] = uniform.forward;
    cost_[lane + kInput] = uniform.input;
    cost_[lane + kWeight] = uniform.weight;
  }
  for (std::size_t r = 0; r < ranks_; ++r) {
    // Every rank begins with the first microbatch's way down.
    const std::int64_t begin = static_cast<std::int64_t>(r) * (uniform.forward + uniform.latency);
    begin_.push_back(objective == Objective::span ? begin : 0);
  }
  tasks_.resize(nowhere_);
  start_.assign(nowhere_ + 1, kLongAgo);
  tail_.assign(nowhere_ + 1, kLongAgo);
  near_.resize(nowhere_);
  for (Place place = 0; place < nowhere_; ++place) {
    rank_of_.push_back(static_cast<std::uint32_t>(place / size_));
  }
  rank_of_.push_back(0);
  place_of_.assign(no_number_ + 1, nowhere_);
  sorted_.resize(nowhere_);
  sorted_at_.resize(nowhere_);
  done_.assign(ranks_, 0);
  start(rows);
}

PathMoves::Number PathMoves::number_of(std::size_t kind, std::size_t stage, int microbatch) const {
  return static_cast<Number>((kind * stages_ + stage) * count_ +
                             static_cast<std::size_t>(microbatch));
}

PathMoves::Task PathMoves::task_of(std::size_t rank, Lane lane, int microbatch) const {
  Task task{.lane = lane, .microbatch = microbatch};
  task.self = task.from = task.to = no_number_;
  const std::size_t kind = kind_of(lane);
  if (kind == kWeight) return task;
  const std::size_t stage = lane < kUp ? rank : 2 * ranks_ - 1 - rank;
  task.self = number_of(kind, stage, microbatch);
  // At the turn of a V placement both stages are on one rank, which needs no message.
  if (stage > 0 && stage != ranks_) {
    (kind == kForward ? task.from : task.to) = number_of(kind, stage - 1, microbatch);
  }
  if (stage + 1 < stages_ && stage + 1 != ranks_) {
    (kind == kForward ? task.to : task.from) = number_of(kind, stage + 1, microbatch);
  }
  return task;
}

void PathMoves::start(const ShortRows& rows) {
  for (std::size_t r = 0; r < ranks_; ++r) {
    std::array<int, kMostLanes> next{};
    for (std::size_t k = 0; k < size_; ++k) {
      const Lane lane = rows[r][k];
      tasks_[r * size_ + k] = task_of(r, lane, next[lane]++);
    }
    settle(row(r), row(r + 1) - 1);
  }
  std::iota(sorted_at_.begin(), sorted_at_.end(), std::size_t{0});
  std::fill(done_.begin(), done_.end(), 0);
  time_from(0);
  find_tails(nowhere_);
  best_ = value_;
  best_tasks_ = tasks_;
}

ShortRows PathMoves::best_rows() const {
  ShortRows rows(ranks_);
  for (Place place = 0; place < nowhere_; ++place) {
    rows[rank_of_[place]].push_back(best_tasks_[place].lane);
  }
  return rows;
}

std::uint64_t PathMoves::draw(std::uint64_t below) {
  random_ += 0x9e3779b97f4a7c15U;  // splitmix64
  std::uint64_t mixed = random_;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
  mixed ^= mixed >> 31U;
  return ((mixed >> 32U) * below) >> 32U;
}

void PathMoves::run(std::int64_t moves, double temperature) {
  constexpr std::uint64_t kFine = 1U << 20U;
  for (std::int64_t i = 0; i < moves; ++i) {
    auto place = static_cast<Place>(draw(tasks_.size()));
    for (std::size_t looks = 0; !is_movable(place); ++looks) {
      if (looks == 64 * tasks_.size()) return;
      place = static_cast<Place>(draw(tasks_.size()));
    }
    const double chance = (static_cast<double>(draw(kFine)) + 1.0) / static_cast<double>(kFine);
    const auto worse = static_cast<std::int64_t>(-temperature * std::log(chance));
    const Place first = row(rank_of_[place]);
    const auto by = static_cast<Place>(draw(kMostPlaces)) + 1;
    if (draw(2) == 0) {
      if (place - first >= by) try_shift(place, place - by, value_ + worse);
    } else {
      if (place - 1 + by < first + size_) try_shift(place - 1, place - 1 + by, value_ + worse);
    }
    if (value_ < best_) {
      best_ = value_;
      best_tasks_ = tasks_;
    }
  }
}

// Whether it is on the critical path, right after another one of its rank.
bool PathMoves::is_movable(Place place) const {
  return start_[place] + cost_[tasks_[place].lane] + tail_[place] == value_ &&
         place != row(rank_of_[place]) && end_before(place) == start_[place];
}

std::int64_t PathMoves::value_now() const {
  std::int64_t value = 0;
  for (std::size_t r = 0; r < ranks_; ++r) {
    const Place last = row(r + 1) - 1;
    value = std::max(value, start_[last] + cost_[tasks_[last].lane] - begin_[r]);
  }
  return value;
}

// Of two tasks in this order.
bool PathMoves::may_pass(std::size_t rank, const Task& first, const Task& second) const {
  if (first.lane == second.lane) return false;
  if (first.microbatch != second.microbatch) return true;
  if (first.lane / kUp == second.lane / kUp) return second.lane != first.lane + 1;
  if (rank + 1 < ranks_) return true;  // at the turn
  return !(first.lane == kForward && second.lane == kForward + kUp) &&
         !(first.lane == kInput + kUp && second.lane == kInput);
}

bool PathMoves::try_shift(Place from, Place to, std::int64_t limit) {
  if (!shift(from, to)) return false;
  const Place first = std::min(from, to);
  const Place last = std::max(from, to);
  if (estimate(first, last) <= limit) {
    const std::size_t sorted = sorted_at_[first];
    if (time_from(sorted)) {
      find_tails(sorted_at_[last] + 1);
      return true;
    }
    shift(to, from);
    time_from(sorted);
    return false;
  }
  shift(to, from);
  return false;
}

// Where the tasks between allow it, and the memory.
bool PathMoves::shift(Place from, Place to) {
  const std::size_t rank = rank_of_[from];
  const Task& moved = tasks_[from];
  const bool earlier = to < from;
  const Place first = earlier ? to : from + 1;
  const Place end = earlier ? from : to + 1;
  // A forward that comes before others, or a weight gradient that comes after: one more is held.
  const bool holds = kind_of(moved.lane) == (earlier ? kForward : kWeight);
  for (Place place = first; place < end; ++place) {
    const Task& other = tasks_[place];
    if (!(earlier ? may_pass(rank, other, moved) : may_pass(rank, moved, other))) return false;
    const std::int32_t held = other.held + (kind_of(other.lane) == kForward ? 2 : 1);
    if (holds && held > memory_) return false;
  }
  const auto at = [&](Place place) { return tasks_.begin() + static_cast<std::ptrdiff_t>(place); };
  const std::int32_t held = tasks_[std::min(from, to)].held;
  if (earlier) {
    std::rotate(at(to), at(from), at(from) + 1);
  } else {
    std::rotate(at(from), at(from) + 1, at(to) + 1);
  }
  tasks_[std::min(from, to)].held = held;
  settle(std::min(from, to), std::max(from, to));
  return true;
}

// What follows from the places of a range of a row, of whose first task `held` is right.
void PathMoves::settle(Place first, Place last) {
  std::int32_t held = tasks_[first].held;
  for (Place place = first; place <= last; ++place) {
    Task& task = tasks_[place];
    task.held = held;
    const std::size_t kind = kind_of(task.lane);
    held += kind == kForward ? 1 : (kind == kWeight ? -1 : 0);
    if (kind != kWeight) place_of_[task.self] = place;
  }
}

// The longest path through the tasks of a range, if what comes from other ranks comes when it came
// before, and what goes to them takes to the end what it took.
std::int64_t PathMoves::estimate(Place first, Place last) {
  std::int64_t now = end_before(first);
  for (Place place = first; place <= last; ++place) {
    const Task& task = tasks_[place];
    now = std::max(now, arrival(task));
    near_[place] = now;
    now += cost_[task.lane];
  }
  std::int64_t tail = tail_before(last);
  std::int64_t longest = 0;
  for (Place place = last + 1; place-- > first;) {
    const Task& task = tasks_[place];
    tail = std::max(tail, way_on(task)) + cost_[task.lane];
    longest = std::max(longest, near_[place] + tail);
  }
  return longest;
}

// The starts, of which those of the first `sorted` tasks are right. False: the ranks wait for each
// other.
bool PathMoves::time_from(std::size_t sorted) {
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    const auto all = sorted_at_.begin();
    const auto begin = all + row(rank);
    done_[rank] = static_cast<Place>(
        std::lower_bound(begin, begin + static_cast<std::ptrdiff_t>(size_), sorted) - all);
  }
  bool forwards = true;
  for (bool goes = true; std::exchange(goes, false); forwards = !forwards) {
    for (std::size_t i = 0; i < ranks_; ++i) {
      const std::size_t rank = forwards ? i : ranks_ - 1 - i;
      const Place end = row(rank + 1);
      Place place = done_[rank];
      if (place == end) continue;
      std::int64_t now = end_before(place);
      for (; place < end; ++place) {
        const Task& task = tasks_[place];
        const Place from = place_of_[task.from];
        if (from != nowhere_ && from >= done_[rank_of_[from]]) break;
        now = std::max(now, start_[from] + cost_[task.lane] + latency_);
        start_[place] = now;
        now += cost_[task.lane];
        sorted_at_[place] = sorted;
        sorted_[sorted++] = place;
        goes = true;
      }
      done_[rank] = place;
    }
  }
  if (sorted < nowhere_) return false;
  value_ = value_now();
  return true;
}

void PathMoves::find_tails(std::size_t sorted) {
  while (sorted-- > 0) {
    const Place place = sorted_[sorted];
    tail_[place] = std::max(tail_before(place), way_on(tasks_[place]));
  }
}

}  // namespace ripeline::optimise
