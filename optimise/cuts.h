// How the layers of a model may be cut into the stages of its placement.
//
// A cut is as good as its worst rank. RankBounds bounds the time of a rank from below, by its work,
// by what comes before its first task and after its last one, and by its waits for memory. If the
// search over cuts ends within its limits, the cuts with the least bounds are found exactly. No
// order of a cut that was left out takes less than `rest`. Limits are counted in steps, not in
// time. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "optimise/placed_model.h"
#include "optimise/rank_bounds.h"
#include "optimise/uniform.h"

namespace ripeline::optimise {

struct Cuts {
  static constexpr RankBounds::Time kNoOther = RankBounds::kNoRoom;

  // Per cut the first layers of its stages, as in PlacedModel; not empty. Cuts are sorted by their
  // bound, and cuts with the same bound by the sum of their ranks' bounds. The cut with the most
  // even stages comes last if it is not among the best, and is the only one if no cut has room.
  std::vector<std::vector<int>> best;
  // In nanoseconds. No order of any other cut takes less. kNoOther if there is no other cut, or if
  // no other cut has an order.
  RankBounds::Time rest = kNoOther;
};

// At most `most` of the best cuts, and the cut with the most even stages. The cut that the model
// itself has does not matter.
[[nodiscard]] Cuts best_cuts(const PlacedModel& model, const RankBounds::Times& times,
                             Objective objective, std::size_t most);

// The largest bound of the cut's ranks, in nanoseconds.
[[nodiscard]] RankBounds::Time bound_of(const PlacedModel& model, const RankBounds& bounds,
                                        const std::vector<int>& first_layers);

}  // namespace ripeline::optimise
