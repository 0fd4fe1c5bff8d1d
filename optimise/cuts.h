// How the layers of a model may be cut into the stages of its placement.
//
// With several stages on a rank it is the costliest rank that counts, then what comes before its
// first task and after its last one, and what its memory makes it wait for: RankBounds says all
// this of a rank. A cut is as good as its worst rank. Where the search over cuts comes to its end,
// the best ones are found exactly, and none that was left out is better than `rest` says. Limits
// are in steps. Pure.
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

  // The first layers of each cut's stages, as of PlacedModel; not empty. The one with the least
  // bound comes first, and of equal ones that whose ranks' bounds have the least sum. The last one
  // has the most even stages, if it is not among the best. Where no cut has room, it is alone.
  std::vector<std::vector<int>> best;
  // In nanoseconds: no order of any other cut takes less. kNoOther: there is none, or it has no
  // order.
  RankBounds::Time rest = kNoOther;
};

// At most `most` of them, and the one with the most even stages. The model's own cut does not
// matter.
[[nodiscard]] Cuts best_cuts(const PlacedModel& model, const RankBounds::Times& times,
                             Objective objective, std::size_t most);

// The largest of its ranks' bounds, in nanoseconds.
[[nodiscard]] RankBounds::Time bound_of(const PlacedModel& model, const RankBounds& bounds,
                                        const std::vector<int>& first_layers);

}  // namespace ripeline::optimise
