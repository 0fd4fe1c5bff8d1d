// An order that PyTorch loads, by moving the fewest cells of one that it does not.
//
// A move takes a cell out of its row and puts it elsewhere in that row. First come the fewest
// moves; among repairs with as many, one in which no rank holds more activations at once than
// before, if there is one, else one with the least sum of what the ranks hold more.
// MovedOrder::fewest says whether the first is known; the second is exact where the search also
// tried all choices of as many moves within its steps. Pure; never throws.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "pytorch/csv/actions.h"
#include "pytorch/lower.h"

namespace ripeline::verify {

// The most activations held at once in a row: of all its stages, or of the stage with most. An F
// begins one, a B or W ends it.
struct RowPeak {
  std::int64_t all = 0;
  std::int64_t stage = 0;
};
[[nodiscard]] RowPeak peak_of(const std::vector<const spec::ActionCell*>& row);

struct MovedOrder {
  spec::ActionTable table;             // computations, without blanks
  std::vector<spec::Move> moves;       // one for each cell that moved, row by row
  std::vector<spec::StuckRank> stuck;  // by rank, of what no move helps; empty: PyTorch loads it
  bool fewest = false;                 // no fewer moves do
};
// `fits` says whether a row's peak is allowed; orders in which all that were touched are allowed
// come before fewer moves, as far as such are found. The table has no blanks, the rows are the
// ranks of the map, and no cell is there twice.
[[nodiscard]] MovedOrder with_fewest_moves(const spec::ActionTable& table,
                                           const spec::StageMap& map,
                                           const std::function<bool(const RowPeak&)>& fits);

}  // namespace ripeline::verify
