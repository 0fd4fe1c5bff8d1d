// Which input each microbatch of a step is.
//
// The microbatches of a program are numbers in the order in which they enter; which input has which
// number is the program's `inputs`. Every rank must give the same numbers: they follow from known
// costs, such as lengths, which each rank computes alike, and equal costs keep their order. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/facts.h"

namespace ripeline::core {

// For each microbatch, its input. `costs` has what each input is known to take, in any unit.
//   natural  microbatch m is input m
//   pyramid  sorted by cost, every second one from the first on, then the others back:
//            small … large … small
[[nodiscard]] std::vector<std::int32_t> input_order(InputOrder order,
                                                    std::span<const std::int64_t> costs);

}  // namespace ripeline::core
