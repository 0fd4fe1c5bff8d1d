// Local search on an order: tasks on its critical path change places with others of their rank.
//
// A task of the path goes earlier by a few places, or the one right before it later. An order that
// takes no longer is accepted, and by simulated annealing sometimes one that does. A move is first
// judged by what is near it: with the longest ways from the beginning and to the end that the order
// had before the move, most moves are refused after a look at a few tasks. What passes is timed in
// full. Chain and V placement. Deterministic for a seed and a number of moves. One object belongs
// to one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "optimise/incumbent.h"
#include "optimise/short_rows.h"
#include "optimise/uniform.h"

namespace ripeline::optimise {

class PathMoves {
 public:
  // `rows` are a legal order.
  PathMoves(const Uniform& uniform, Objective objective, const ShortRows& rows, std::uint64_t seed);

  // Tries so many moves at a temperature, in the unit of the costs.
  void run(std::int64_t moves, double temperature);

  void restart(const ShortRows& rows);
  [[nodiscard]] std::int64_t value() const { return value_; }  // of the order it is at
  [[nodiscard]] std::int64_t best() const { return best_; }    // since the last restart
  [[nodiscard]] ShortRows best_rows() const;
  [[nodiscard]] std::int64_t timed() const { return timed_; }  // orders timed in full

 private:
  using Place = std::size_t;  // rank * size_ + position

  struct Task {
    Lane lane = 0;
    std::int32_t microbatch = 0;
    std::int32_t held = 0;  // activations before it
  };

  [[nodiscard]] std::size_t rank_of(Place place) const { return place / size_; }
  [[nodiscard]] std::size_t stage_of(std::size_t rank, Lane lane) const {
    return lane < kUp ? rank : 2 * ranks_ - 1 - rank;
  }
  // Of an F or I.
  [[nodiscard]] Place& place_of(std::size_t kind, std::size_t stage, std::int32_t microbatch) {
    return place_of_[(kind * stages_ + stage) * count_ + static_cast<std::size_t>(microbatch)];
  }

  [[nodiscard]] bool may_pass(std::size_t rank, const Task& first, const Task& second) const;
  bool shift(Place from, Place to);
  void settle(Place first, Place last);
  std::int64_t estimate(Place first, Place last);
  bool time_all();
  void accept();
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

  std::vector<Task> tasks_;          // by place
  std::vector<std::int64_t> start_;  // by place
  std::vector<std::int64_t> tail_;   // by place: the longest way from its end to the end of all
  std::vector<Place> place_of_;
  std::vector<Place> critical_;  // that follow one of the critical path without a pause

  std::vector<std::int64_t> new_start_;
  std::vector<Place> sorted_;  // as they were timed
  std::int64_t new_value_ = 0;
  std::int64_t value_ = 0;
  std::int64_t best_ = 0;
  std::int64_t timed_ = 0;
  std::vector<Task> best_tasks_;
};

}  // namespace ripeline::optimise
