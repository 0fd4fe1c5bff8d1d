// Makes an order that PyTorch loads from one that it does not, by moving the fewest cells.
//
// A move takes a cell out of its row and puts it elsewhere in that row. The fewest moves come
// first; among repairs with equally many, one in which no rank holds more activations at once than
// before if there is one, else one with the least sum of what ranks hold more than before.
// MovedOrder::fewest tells whether the number of moves is known to be least; the rest is exact if
// the search also tried all choices of that many moves within its steps. Pure; never throws.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "pytorch/csv/actions.h"
#include "pytorch/lower.h"

namespace ripeline::pytorch {

// The most activations held at once in a row: over all its stages, and for the stage with most. An
// F begins to hold one, a B or W ends it.
struct RowPeak {
  std::int64_t all = 0;
  std::int64_t stage = 0;
};
[[nodiscard]] RowPeak peak_of(const std::vector<const ActionCell*>& row);

struct MovedOrder {
  ActionTable table;             // computations, without blanks
  std::vector<Move> moves;       // one for each cell that moved, row by row
  std::vector<StuckRank> stuck;  // by rank, those that no move helps; empty: PyTorch loads it
  bool fewest = false;           // fewer moves are known not to suffice
};
// `fits` decides whether a row's peak is allowed. An order in which the peaks of all touched rows
// are allowed is preferred to fewer moves, if one is found. The table must have no blanks, its rows
// must be the ranks of the map, and no cell may occur twice.
[[nodiscard]] MovedOrder with_fewest_moves(const ActionTable& table, const StageMap& map,
                                           const std::function<bool(const RowPeak&)>& fits);

}  // namespace ripeline::pytorch
