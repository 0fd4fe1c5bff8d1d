// Whose turn comes next in a hint's round.
#pragma once

namespace ripeline::core {

// Of a round of so many places, the one that is tried first once something has started: the place
// after the first, from `round` on, that lists what started. If none does, it stays `round`.
template <class Lists>
[[nodiscard]] constexpr int turn_after(int round, int places, const Lists& lists) {
  for (int i = 0; i < places; ++i) {
    const int place = (round + i) % places;
    if (lists(place)) return (place + 1) % places;
  }
  return round;
}

}  // namespace ripeline::core
