// Which microbatches have a whole backward, where a schedule of PyTorch has whole and split ones,
// as a condition of the language.
//
// A microbatch of a stage is whole if the file has its B. One without any backward, which is a
// mistake that the program keeps, is whole where the stage has some B. The condition chooses by
// halves, so it stays shallow and is short where microbatches of a kind are neighbours. Pure.
#pragma once

#include <string>

#include "pytorch/check.h"

namespace ripeline::verify {

// A condition on s and m: `s < 2 ? (m % 8 < 3) : (0)`. Cells that are not of the shape do not
// count.
[[nodiscard]] std::string where_whole(const spec::ActionTable& table, const CheckShape& shape);

}  // namespace ripeline::verify
