// Places: where a rank may stand in one turn of a repeat of its order.
//
// Data, which every encoder of committed orders reads, whether counts of turns are open or the
// number of ranks as well.
#pragma once

#include <vector>

namespace ripeline::verify {

struct PlaceInTurn {
  // The step before which the rank stands.
  int next = 0;
  // How many of the turn's steps have run there; never fewer than at the place before.
  int passed = 0;
};

// Before each step, what comes before it having run.
[[nodiscard]] inline std::vector<PlaceInTurn> places_in_turn(int steps) {
  std::vector<PlaceInTurn> places;
  for (int i = 0; i < steps; ++i) places.push_back({i, i});
  return places;
}

}  // namespace ripeline::verify
