// Fault: a mistake put into an encoding, so that tests can show that each would be noticed.
// Production never sets one.
#pragma once

#include <cstdint>

namespace ripeline::verify {

enum class Fault : std::uint8_t {
  none,
  swapped_release,     // a pool gets its amount back when its acquirer has ended, not its releaser
  missing_release,     // nothing is ever given back
  capacity_too_large,  // one more than there is
  capacity_too_small,  // one less
  dropped_room,        // capacities are not looked at
  dropped_need,        // the last need of each lane is not looked at
  reversed_need,       // the last need of each lane is taken the other way around
  ignored_leaving,     // `leaving` is 0
  amount_of_one,       // every amount is 1
  joins_as_chains,     // independent inputs are taken for nested ones
  sequence_as_chains,  // a sequential consumer of an overtaking producer is taken for exact
  assumed_room,        // the invariant claims one unit that need not be free
  one_lane_forgotten,  // the last lane is never asked whether it may start
  order_place_forgotten,  // the last place of each repeat is never stood at
  order_counts_ahead,     // a task of an order counts as run when it is next
  order_room_forgotten,   // capacities are not looked at under a committed order
  range_from_one,         // the range of microbatches is not looked at
  bound_too_large,        // `assert peak` allows one more
  slots_too_many,         // an inbox has one slot more than it has
  slots_forgotten,        // inboxes are not looked at
  overtaking_forgotten,   // messages of slots are taken to arrive in order
  kept_order_trusted,     // an order that room is kept for is taken for proved
  kept_order_covers_all,  // … and its proof for one of programs that it does not cover
};

}  // namespace ripeline::verify
