// A condition of the language for the microbatches that have a whole backward, if a schedule of
// PyTorch has both whole and split ones.
//
// A microbatch of a stage is whole if the file has its B. A microbatch without any backward, a
// mistake that the program keeps, is whole if the stage has some B. The condition divides the
// microbatches by halves, so it is not deep; it is short if those of one kind are neighbours. Pure.
#pragma once

#include <string>

#include "pytorch/check.h"

namespace ripeline::pytorch {

// A condition on s and m, such as `s < 2 ? (m % 8 < 3) : (0)`. Cells outside the shape are
// ignored.
[[nodiscard]] std::string where_whole(const ActionTable& table, const CheckShape& shape);

}  // namespace ripeline::pytorch
