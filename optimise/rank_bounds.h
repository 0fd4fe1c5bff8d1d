// RankBounds: what no order of a step is below, by the layers of one rank alone.
//
// The formulas work, head, head+tail, head+drain and room of optimise/bounds/bounds.h for F, I and
// W of layers that differ, by sums over layers. So they are found for very many cuts of the layers,
// without a program of each; the bounds of such a program may be higher. Immutable once made.
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
  // The rank cannot hold one microbatch.
  static constexpr Time kNoRoom = std::numeric_limits<Time>::max();

  struct Times {
    Time unit = 1;             // nanoseconds per unit of the layers' costs
    double latency = 0;        // per message between ranks, in the unit
    bool only_latency = true;  // a message takes no more
  };
  // From the layer `begin` to the one before `end`.
  struct Stage {
    int number = 0;
    int begin = 0;
    int end = 0;
  };

  // The model's cut does not matter. All its tasks together take less than kMost.
  RankBounds(const PlacedModel& model, const Times& times, Objective objective);
  static constexpr Time kMost = std::numeric_limits<Time>::max() / 16;
  // The sum over all tasks of the step, or kMost if that is less.
  [[nodiscard]] static Time all_work(const PlacedModel& model, const Times& times);

  // `stages` are all those of a rank, in the order of their numbers.
  [[nodiscard]] Time of(std::span<const Stage> stages) const;
  // The work of all microbatches in all layers before this one: forward and backward.
  [[nodiscard]] Time work_before(int layer) const { return microbatches_ * at(work_, layer); }
  // All times of all orders of all cuts are multiples of it, as are all bounds.
  [[nodiscard]] Time grain() const { return grain_; }
  // A bound that holds for every cut, found without looking at any.
  [[nodiscard]] Time of_every_cut() const;

 private:
  // Sums for the stages of a rank.
  struct Load {
    Time forward = 0;
    Time input = 0;
    Time weight = 0;
    double held = 0;  // by a microbatch in all stages
  };

  [[nodiscard]] static Time at(const std::vector<Time>& sums, int layer) {
    return sums[static_cast<std::size_t>(layer)];
  }
  [[nodiscard]] static Time of(const std::vector<Time>& sums, const Stage& stage) {
    return at(sums, stage.end) - at(sums, stage.begin);
  }
  [[nodiscard]] Time way_to(int stage) const;  // messages from stage 0 to it
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
  bool by_wall_;
  Time latency_;
  Time grain_ = 1;
  double activation_ = 1;   // per layer, in the unit of room_
  double after_input_ = 1;  // left of it after I
  double room_ = 0;
  std::vector<Time> forward_;  // the sum over all layers before one, as the next ones
  std::vector<Time> input_;
  std::vector<Time> weight_;
  std::vector<Time> work_;
  std::vector<int> ways_;  // per stage: messages between ranks before it
};

}  // namespace ripeline::optimise
