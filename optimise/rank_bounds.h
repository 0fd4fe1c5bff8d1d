// RankBounds: lower bounds of a step from the layers of one rank alone.
//
// They are the formulas work, head, head+tail, head+drain and room of optimise/bounds/bounds.h, for
// layers with different F, I and W. They are computed from sums over layers, without a program of
// each cut, and so are fast enough for very many cuts. A program may give higher bounds. Immutable.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "optimise/placed_model.h"
#include "optimise/uniform.h"

namespace ripeline::optimise {

class RankBounds {
 public:
  using Time = std::int64_t;  // nanoseconds
  // The bound of a rank that cannot hold one microbatch.
  static constexpr Time kNoRoom = std::numeric_limits<Time>::max();

  struct Times {
    Time unit = 1;             // nanoseconds per unit of the layers' costs
    double latency = 0;        // per message between ranks, in this unit
    bool only_latency = true;  // a message takes nothing but its latency
  };
  // The layers from `begin` to the one before `end`.
  struct Stage {
    int number = 0;
    int begin = 0;
    int end = 0;
  };

  // Ignores the model's own cut. All tasks of the model together must take less than kMost.
  RankBounds(const PlacedModel& model, const Times& times, Objective objective);
  static constexpr Time kMost = std::numeric_limits<Time>::max() / 16;
  // The sum of the times of all tasks and messages of the step, or kMost if that is less.
  [[nodiscard]] static Time all_work(const PlacedModel& model, const Times& times);

  // The bound of a rank, given all its stages in the order of their numbers.
  [[nodiscard]] Time of(std::span<const Stage> stages) const;
  // The forward and backward work of all microbatches in all layers before this one.
  [[nodiscard]] Time work_before(int layer) const { return microbatches_ * at(work_, layer); }
  // A time that divides all times of all orders of all cuts, and all bounds.
  [[nodiscard]] Time grain() const { return grain_; }
  // A bound for all cuts. It depends only on the layers.
  [[nodiscard]] Time of_every_cut() const;

 private:
  // Sums over all stages of a rank.
  struct Load {
    Time forward = 0;
    Time input = 0;
    Time weight = 0;
    double held = 0;  // by one microbatch in all these stages
  };

  [[nodiscard]] static Time at(const std::vector<Time>& sums, int layer) {
    return sums[static_cast<std::size_t>(layer)];
  }
  [[nodiscard]] static Time of(const std::vector<Time>& sums, const Stage& stage) {
    return at(sums, stage.end) - at(sums, stage.begin);
  }
  [[nodiscard]] Time way_to(int stage) const;  // the time of the messages from stage 0 to `stage`
  [[nodiscard]] Load load(std::span<const Stage> stages) const;
  [[nodiscard]] Time forwards_that_fit(std::span<const Stage> stages) const;
  [[nodiscard]] Time least_releasing(std::span<const Stage> stages, double released) const;
  [[nodiscard]] Time least_weights(std::span<const Stage> stages, double released) const;
  [[nodiscard]] Time tail(std::span<const Stage> stages, const Load& load, Time idle) const;
  [[nodiscard]] Time drain(std::span<const Stage> stages, const Load& load, Time idle) const;
  [[nodiscard]] Time room(std::span<const Stage> stages) const;
  [[nodiscard]] Time whole(Time bound) const { return (bound + grain_ - 1) / grain_ * grain_; }

  int layers_;
  int ranks_;
  Time microbatches_;
  bool by_makespan_;
  Time latency_;
  Time grain_ = 1;
  double activation_ = 1;   // per layer, in the unit of room_
  double after_input_ = 1;  // the part of `activation_` left after I
  double room_ = 0;
  std::vector<Time> forward_;  // per layer: the sum over all earlier layers; so are the next three
  std::vector<Time> input_;
  std::vector<Time> weight_;
  std::vector<Time> work_;
  std::vector<int> ways_;  // per stage: messages between ranks before it
};

}  // namespace ripeline::optimise
