// The computations, sends and receives of a table, in the order in which PyTorch issues them, as a
// WireProgram (wire/wire.h); used by check() only.
//
// Computations are on one stream; a send or a receive waits for the computations issued before it;
// a computation waits for the receives of its needs. UNSHARD, RESHARD and REDUCE_GRAD are left out.
// Pure; never throws.
#pragma once

#include <vector>

#include "pytorch/check.h"

namespace ripeline::pytorch {

struct WireOfCells {
  wire::WireProgram program;
  std::vector<std::vector<Action>> actions;  // those of the table, per rank and index
};
// The stages must be in the shape's map, each in the row of its rank.
[[nodiscard]] WireOfCells wired(const ActionTable& table, const CheckShape& shape);

}  // namespace ripeline::pytorch
