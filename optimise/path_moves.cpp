// The external interface is PathMoves. All tasks stand in one array, rank after rank; a move turns
// a short range of it by one.
#include "optimise/path_moves.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ripeline::optimise {
namespace {

constexpr std::int64_t kMostPlaces = 8;  // that a task moves

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
      random_(seed) {
  for (std::size_t lane = 0; lane < kMostLanes; lane += kUp) {
    cost_[lane + kForward] = uniform.forward;
    cost_[lane + kInput] = uniform.input;
    cost_[lane + kWeight] = uniform.weight;
  }
  for (std::size_t r = 0; r < ranks_; ++r) {
    // Every rank begins with the first microbatch's way down.
    const std::int64_t begin =
        static_cast<std::int64_t>(r) * (uniform.forward + uniform.latency);
    begin_.push_back(objective == Objective::span ? begin : 0);
  }
  tasks_.resize(ranks_ * size_);
  start_.resize(tasks_.size());
  new_start_.resize(tasks_.size());
  tail_.resize(tasks_.size());
  place_of_.resize(2 * stages_ * count_);
  restart(rows);
}

void PathMoves::restart(const ShortRows& rows) {
  for (std::size_t r = 0; r < ranks_; ++r) {
    for (std::size_t k = 0; k < size_; ++k) tasks_[r * size_ + k].lane = rows[r][k];
    std::array<std::int32_t, kMostLanes> next{};
    std::int32_t held = 0;
    for (Place place = r * size_; place < (r + 1) * size_; ++place) {
      Task& task = tasks_[place];
      task.microbatch = next[task.lane]++;
      task.held = held;
      held += kind_of(task.lane) == kForward ? 1 : (kind_of(task.lane) == kWeight ? -1 : 0);
    }
    settle(r * size_, (r + 1) * size_ - 1);
  }
  time_all();
  accept();
  best_ = value_;
  best_tasks_ = tasks_;
}

ShortRows PathMoves::best_rows() const {
  ShortRows rows(ranks_);
  for (Place place = 0; place < best_tasks_.size(); ++place) {
    rows[rank_of(place)].push_back(best_tasks_[place].lane);
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
  for (std::int64_t i = 0; i < moves && !critical_.empty(); ++i) {
    const double chance = (static_cast<double>(draw(kFine)) + 1.0) / static_cast<double>(kFine);
    const auto worse = static_cast<std::int64_t>(-temperature * std::log(chance));
    const Place place = critical_[draw(critical_.size())];
    const Place row = rank_of(place) * size_;
    const auto by = static_cast<Place>(draw(kMostPlaces)) + 1;
    if (draw(2) == 0) {
      if (place - row >= by) try_shift(place, place - by, value_ + worse);
    } else {
      if (place - 1 + by < row + size_) try_shift(place - 1, place - 1 + by, value_ + worse);
    }
    if (value_ < best_) {
      best_ = value_;
      best_tasks_ = tasks_;
    }
  }
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
  if (estimate(first, last) <= limit && time_all() && new_value_ <= limit) {
    accept();
    return true;
  }
  shift(to, from);
  return false;
}

// Where the tasks between allow it, and the memory.
bool PathMoves::shift(Place from, Place to) {
  const std::size_t rank = rank_of(from);
  const Task moved = tasks_[from];
  if (to < from) {
    for (Place place = to; place < from; ++place) {
      if (!may_pass(rank, tasks_[place], moved)) return false;
    }
    if (kind_of(moved.lane) == kForward) {
      for (Place place = to; place < from; ++place) {
        // Before `place` it holds one more, and the forward itself one.
        if (tasks_[place].held + 1 > memory_) return false;
        if (kind_of(tasks_[place].lane) == kForward && tasks_[place].held + 2 > memory_) {
          return false;
        }
      }
    }
  } else {
    for (Place place = from + 1; place <= to; ++place) {
      if (!may_pass(rank, moved, tasks_[place])) return false;
      if (kind_of(moved.lane) == kWeight && kind_of(tasks_[place].lane) == kForward &&
          tasks_[place].held + 2 > memory_) {
        return false;
      }
    }
  }
  const auto begin = tasks_.begin();
  const auto at = [&](Place place) { return begin + static_cast<std::ptrdiff_t>(place); };
  const std::int32_t held = tasks_[std::min(from, to)].held;
  if (to < from) {
    std::rotate(at(to), at(from), at(from) + 1);
  } else {
    std::rotate(at(from), at(from) + 1, at(to) + 1);
  }
  tasks_[std::min(from, to)].held = held;
  settle(std::min(from, to), std::max(from, to));
  return true;
}

// What else is known of the tasks of a range of a row, of whose first `held` is right.
void PathMoves::settle(Place first, Place last) {
  const std::size_t rank = rank_of(first);
  std::int32_t held = tasks_[first].held;
  for (Place place = first; place <= last; ++place) {
    Task& task = tasks_[place];
    task.held = held;
    const std::size_t kind = kind_of(task.lane);
    held += kind == kForward ? 1 : (kind == kWeight ? -1 : 0);
    if (kind != kWeight) place_of(kind, stage_of(rank, task.lane), task.microbatch) = place;
  }
}

// The longest path through the tasks of a range, if what comes from other ranks comes when it came
// before, and what goes to them takes to the end what it took.
std::int64_t PathMoves::estimate(Place first, Place last) {
  const std::size_t rank = rank_of(first);
  const bool begins = first == rank * size_;
  std::int64_t now = begins ? 0 : start_[first - 1] + cost_[tasks_[first - 1].lane];
  for (Place place = first; place <= last; ++place) {
    const Task& task = tasks_[place];
    const std::size_t kind = kind_of(task.lane);
    if (kind != kWeight) {
      const std::size_t stage = stage_of(rank, task.lane);
      const bool forward = kind == kForward;
      if (forward ? stage > 0 : stage + 1 < stages_) {
        const Place from = place_of(kind, forward ? stage - 1 : stage + 1, task.microbatch);
        if (rank_of(from) != rank) {
          now = std::max(now, start_[from] + cost_[task.lane] + latency_);
        }
      }
    }
    new_start_[place] = now;
    now += cost_[task.lane];
  }
  const bool ends = last + 1 == (rank + 1) * size_;
  std::int64_t tail = ends ? -begin_[rank] : cost_[tasks_[last + 1].lane] + tail_[last + 1];
  std::int64_t longest = now + tail;
  for (Place place = last + 1; place-- > first;) {
    const Task& task = tasks_[place];
    const std::size_t kind = kind_of(task.lane);
    if (kind != kWeight) {
      const std::size_t stage = stage_of(rank, task.lane);
      const bool forward = kind == kForward;
      if (forward ? stage + 1 < stages_ : stage > 0) {
        const Place to = place_of(kind, forward ? stage + 1 : stage - 1, task.microbatch);
        if (rank_of(to) != rank) tail = std::max(tail, latency_ + cost_[task.lane] + tail_[to]);
      }
    }
    longest = std::max(longest, new_start_[place] + cost_[task.lane] + tail);
    tail += cost_[task.lane];
  }
  return longest;
}

// Each task as soon as it can. False: the ranks wait for each other.
bool PathMoves::time_all() {
  ++timed_;
  sorted_.clear();
  static thread_local std::vector<std::size_t> done;
  static thread_local std::vector<std::int64_t> now;
  done.assign(ranks_, 0);
  now.assign(ranks_, 0);
  const std::size_t all = tasks_.size();
  for (bool goes = true; goes && sorted_.size() < all;) {
    goes = false;
    for (std::size_t visit = 0; visit < 2 * ranks_; ++visit) {
      const std::size_t rank = visit < ranks_ ? visit : 2 * ranks_ - 1 - visit;
      std::int64_t time = now[rank];
      Place place = rank * size_ + done[rank];
      const Place end = (rank + 1) * size_;
      for (; place < end; ++place) {
        const Task& task = tasks_[place];
        const std::size_t kind = kind_of(task.lane);
        if (kind != kWeight) {
          const std::size_t stage = stage_of(rank, task.lane);
          const bool forward = kind == kForward;
          if (forward ? stage > 0 : stage + 1 < stages_) {
            const Place from = place_of(kind, forward ? stage - 1 : stage + 1, task.microbatch);
            const std::size_t other = rank_of(from);
            if (other != rank) {
              if (from >= other * size_ + done[other]) break;
              time = std::max(time, new_start_[from] + cost_[task.lane] + latency_);
            }
          }
        }
        new_start_[place] = time;
        time += cost_[task.lane];
        sorted_.push_back(place);
      }
      goes = goes || place != rank * size_ + done[rank];
      done[rank] = place - rank * size_;
      now[rank] = time;
    }
  }
  new_value_ = 0;
  for (std::size_t r = 0; r < ranks_; ++r) new_value_ = std::max(new_value_, now[r] - begin_[r]);
  return sorted_.size() == all;
}

void PathMoves::accept() {
  std::swap(start_, new_start_);
  value_ = new_value_;
  critical_.clear();
  for (std::size_t i = sorted_.size(); i-- > 0;) {
    const Place place = sorted_[i];
    const Task& task = tasks_[place];
    const std::size_t rank = rank_of(place);
    const bool ends = place + 1 == (rank + 1) * size_;
    std::int64_t tail = ends ? -begin_[rank] : cost_[tasks_[place + 1].lane] + tail_[place + 1];
    const std::size_t kind = kind_of(task.lane);
    if (kind != kWeight) {
      const std::size_t stage = stage_of(rank, task.lane);
      const bool forward = kind == kForward;
      if (forward ? stage + 1 < stages_ : stage > 0) {
        const Place to = place_of(kind, forward ? stage + 1 : stage - 1, task.microbatch);
        if (rank_of(to) != rank) tail = std::max(tail, latency_ + cost_[task.lane] + tail_[to]);
      }
    }
    tail_[place] = tail;
    if (start_[place] + cost_[task.lane] + tail == value_ && place > rank * size_ &&
        start_[place - 1] + cost_[tasks_[place - 1].lane] == start_[place]) {
      critical_.push_back(place);
    }
  }
}

}  // namespace ripeline::optimise
