// Positions: where a rank may be within one turn of a repeat of its order.
//
// Plain data for every encoder of committed orders, whether the counts of turns are variable or
// also the number of ranks.
#pragma once

#include <vector>

namespace ripeline::verify {

struct PositionInTurn {
  // The step that the rank runs next.
  int next = 0;
  // The number of the turn's steps that have run; not less than at earlier positions of the turn.
  int passed = 0;
};

// One position before each step, at which the earlier steps of the turn have run.
[[nodiscard]] inline std::vector<PositionInTurn> positions_in_turn(int steps) {
  std::vector<PositionInTurn> positions;
  for (int i = 0; i < steps; ++i) positions.push_back({i, i});
  return positions;
}

}  // namespace ripeline::verify
