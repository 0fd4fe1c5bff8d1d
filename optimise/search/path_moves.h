// Local search on an order: tasks on its critical path change places with others of their rank.
//
// A task of the path goes earlier by a few places, or the one right before it later. An order that
// takes no longer is accepted, and by simulated annealing sometimes one that does. A move is first
// judged by the few tasks around it, with the longest ways from the beginning and to the end that
// the order had before; most moves are refused by that. After the others the order is timed, from
// the moved tasks on. Chain and V placement. Deterministic for a seed and a number of moves. One
// object belongs to one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "optimise/search/incumbent.h"
#include "optimise/search/short_rows.h"
#include "optimise/uniform.h"

namespace ripeline::optimise {

class PathMoves {
 public:
  // `rows` are a legal order.
  PathMoves(const Uniform& uniform, Objective objective, const ShortRows& rows, std::uint64_t seed);

  // Tries so many moves at a temperature, in the unit of the costs.
  void run(std::int64_t moves, double temperature);

  [[nodiscard]] std::int64_t best() const { return best_; }
  [[nodiscard]] ShortRows best_rows() const;

 private:
  using Place = std::uint32_t;   // rank * size_ + position; or nowhere_
  using Number = std::uint32_t;  // of an F or I of a stage and microbatch; or no_number_

  // It stays the same while the task moves, but for `held`.
  struct Task {
    Lane lane = 0;
    std::int32_t microbatch = 0;
    std::int32_t held = 0;  // activations before it
    Number self = 0;
    Number from = 0;  // whose message it needs
    Number to = 0;    // who needs its message
  };

  [[nodiscard]] Number number_of(std::size_t kind, std::size_t stage, int microbatch) const;
  [[nodiscard]] Task task_of(std::size_t rank, Lane lane, int microbatch) const;
  [[nodiscard]] Place row(std::size_t rank) const { return static_cast<Place>(rank * size_); }
  [[nodiscard]] std::int64_t arrival(const Task& task) const {
    return start_[place_of_[task.from]] + cost_[task.lane] + latency_;
  }
  [[nodiscard]] std::int64_t way_on(const Task& task) const {
    return latency_ + cost_[task.lane] + tail_[place_of_[task.to]];
  }
  [[nodiscard]] std::int64_t end_before(Place place) const {
    const Place before = place - 1;
    return place == row(rank_of_[place]) ? 0 : start_[before] + cost_[tasks_[before].lane];
  }
  [[nodiscard]] std::int64_t tail_before(Place place) const {
    const Place next = place + 1;
    const std::size_t rank = rank_of_[place];
    return next == row(rank + 1) ? -begin_[rank] : cost_[tasks_[next].lane] + tail_[next];
  }
  void start(const ShortRows& rows);
  [[nodiscard]] std::int64_t value_now() const;
  [[nodiscard]] bool is_movable(Place place) const;

  [[nodiscard]] bool may_pass(std::size_t rank, const Task& first, const Task& second) const;
  bool shift(Place from, Place to);
  void settle(Place first, Place last);
  [[nodiscard]] std::int64_t estimate(Place first, Place last);
  bool time_from(std::size_t sorted);
  void find_tails(std::size_t sorted);  // of the first so many; those of the others are right
  bool try_shift(Place from, Place to, std::int64_t limit);
  std::uint64_t draw(std::uint64_t below);

  std::size_t ranks_;
  std::size_t count_;  // microbatches
  std::size_t size_;   // of a row
  std::size_t stages_;
  std::int32_t memory_;
  std::int64_t latency_;
  std::array<std::int64_t, kMostLanes> cost_{};
  std::vector<std::int64_t> begin_;  // of each rank's first task if span counts, else 0
  std::uint64_t random_;

  Number no_number_;
  Place nowhere_;

  std::vector<Task> tasks_;  // by place, as the next three
  std::vector<std::uint32_t> rank_of_;
  std::vector<std::int64_t> start_;     // as soon as it can; of nowhere_ long ago
  std::vector<std::int64_t> tail_;      // the longest way from its end to the end; of nowhere_ none
  std::vector<Place> place_of_;         // by number
  std::vector<std::size_t> sorted_at_;  // by place: an order in which each follows what it needs
  std::vector<Place> sorted_;
  std::vector<Place> done_;         // by rank: the first place that is not sorted yet
  std::vector<std::int64_t> near_;  // starts in an estimate
  std::int64_t value_ = 0;
  std::int64_t best_ = 0;
  std::vector<Task> best_tasks_;
};

}  // namespace ripeline::optimise
