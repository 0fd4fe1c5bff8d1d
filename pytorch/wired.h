// The computations, sends and receives of a table as a program of the wire (wire/wire.h), as
// PyTorch issues them; of no use outside check().
//
// Computations are on one stream; a send or a receive waits for the computations issued before it;
// a computation waits for the receives of what it needs. UNSHARD, RESHARD and REDUCE_GRAD are left
// out. Pure; never throws.
#pragma once

#include <vector>

#include "pytorch/check.h"

namespace ripeline::verify {

struct WireOfCells {
  WireProgram program;
  std::vector<std::vector<spec::Action>> actions;  // the table's, per rank and index
};
// Stages are in the shape's map, each in the row of its rank.
[[nodiscard]] WireOfCells wired(const spec::ActionTable& table, const CheckShape& shape);

}  // namespace ripeline::verify
