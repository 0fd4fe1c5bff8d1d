// Makes an order that PyTorch loads from one that it does not, by moving the fewest cells.
//
// A move takes a cell out of its row and puts it elsewhere in that row. A repair has the fewest
// moves. Among repairs with equally many moves, one is preferred in which no rank holds more
// activations at once than before, else the one with the least additional activations in sum.
// MovedOrder::fewest tells whether the number of moves is known to be least. The other criteria are
// exact if the search had the steps to try all choices of that many moves. Pure; never throws.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "pytorch/csv/actions.h"
#include "pytorch/lower.h"

namespace ripeline::pytorch {

// The most activations held at once in a row: over all its stages, and for the stage with the most.
// An F acquires one, a B or W releases it.
struct RowPeak {
  std::int64_t all = 0;
  std::int64_t stage = 0;
};
[[nodiscard]] RowPeak peak_of(const std::vector<const ActionCell*>& row);

struct MovedOrder {
  ActionTable table;             // computations, without blanks
  std::vector<Move> moves;       // one for each cell that moved, row by row
  std::vector<StuckRank> stuck;  // by rank, if no move helps; empty if PyTorch loads it
  bool fewest = false;           // true if fewer moves are known not to suffice
};
// `fits` decides whether a row's peak is allowed. If the search finds an order in which the peaks
// of all changed rows are allowed, this order is preferred even to one with fewer moves. The table
// must have no blanks, its rows must be the ranks of the map, and no cell may occur twice.
[[nodiscard]] MovedOrder with_fewest_moves(const ActionTable& table, const StageMap& map,
                                           const std::function<bool(const RowPeak&)>& fits);

}  // namespace ripeline::pytorch
