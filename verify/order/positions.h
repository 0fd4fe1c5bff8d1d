// Positions: where a rank may be within one turn of a repeat of its order.
//
// Plain data for all encoders of committed orders. Their variables may be the numbers of turns, or
// the numbers of turns and of ranks.
#pragma once

#include <vector>

namespace ripeline::verify {

struct PositionInTurn {
  // The step that the rank runs next.
  int next = 0;
  // The number of the turn's steps that have run; not less than at earlier positions of the turn.
  int passed = 0;
};

// One position before each step: the earlier steps of the turn have run.
[[nodiscard]] inline std::vector<PositionInTurn> positions_in_turn(int steps) {
  std::vector<PositionInTurn> positions;
  for (int i = 0; i < steps; ++i) positions.push_back({i, i});
  return positions;
}

}  // namespace ripeline::verify
