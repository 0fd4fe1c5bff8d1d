// The input order: which input each microbatch of a step is.
//
// The microbatches of a program are numbers in the order in which they enter; the program's
// `inputs` says which input has which number. Every rank must find the same numbers, so they depend
// on costs that all ranks compute alike, such as lengths; equal inputs keep their order. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/facts.h"

namespace ripeline::core {

// The input of each microbatch. `costs` has the expected duration of each input, in any unit.
//   natural  microbatch m is input m
//   pyramid  the inputs are sorted by cost; first every second input from the first on,
//            then the other inputs backwards
[[nodiscard]] std::vector<std::int32_t> input_order(InputOrder order,
                                                    std::span<const std::int64_t> costs);

}  // namespace ripeline::core
