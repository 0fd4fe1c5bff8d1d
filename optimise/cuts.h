// How the layers of a model may be cut into the stages of its placement.
//
// A cut is as good as its worst rank. RankBounds gives a lower bound of a rank's time, from its
// work, from what comes before its first task and after its last task, and from its waits for
// memory. If the search over cuts ends within its limits, it has found exactly the cuts with the
// least bounds. No order of a cut that was left out takes less than `rest`. Limits are counted in
// steps, not in time. Pure.
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

  // Per cut, the first layers of its stages, as in PlacedModel. Cuts are sorted by their bound,
  // then by the sum of their ranks' bounds. The cut with the most even stages is last if it is not
  // among the best, and is the only one if no cut has room. Never empty.
  std::vector<std::vector<int>> best;
  // A lower bound, in nanoseconds, of the times of all orders of cuts that are not in `best`. It is
  // kNoOther if there is no such cut or if no such cut has an order.
  RankBounds::Time rest = kNoOther;
};

// Returns at most `most` of the best cuts, and also the cut with the most even stages. The cut that
// `model` has already is ignored.
[[nodiscard]] Cuts best_cuts(const PlacedModel& model, const RankBounds::Times& times,
                             Objective objective, std::size_t most);

// The largest bound of the cut's ranks, in nanoseconds.
[[nodiscard]] RankBounds::Time bound_of(const PlacedModel& model, const RankBounds& bounds,
                                        const std::vector<int>& first_layers);

}  // namespace ripeline::optimise
