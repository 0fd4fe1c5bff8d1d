// Places: where a rank may stand in one turn of a repeat of its order.
//
// Plain data for every encoder of committed orders, whether it leaves open the counts of turns or
// also the number of ranks.
#pragma once

#include <vector>

namespace ripeline::verify {

struct PlaceInTurn {
  // The step before which the rank stands.
  int next = 0;
  // How many of the turn's steps have run there; never fewer than at earlier places of the turn.
  int passed = 0;
};

// One place before each step, at which the earlier steps of the turn have run.
[[nodiscard]] inline std::vector<PlaceInTurn> places_in_turn(int steps) {
  std::vector<PlaceInTurn> places;
  for (int i = 0; i < steps; ++i) places.push_back({i, i});
  return places;
}

}  // namespace ripeline::verify
