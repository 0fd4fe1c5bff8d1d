// Orders of more microbatches from an order of few, by repeating a part of it once.
//
// Where the memory is short a good order soon becomes periodic, and an order of few microbatches is
// found much faster. The part is that of `period` microbatches from `first` on: each of its tasks
// is repeated a cycle later, and what follows is moved on, where a cycle is the longest time
// between a task of the part and the same `period` microbatches later. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "optimise/search/short_rows.h"

namespace ripeline::optimise {

struct Part {
  int first = 0;   // microbatch
  int period = 1;  // microbatches
};

// `rows` are a legal order of at least first + 2 * period microbatches, and
// `starts` are its starts_of(). The result may hold more than the memory.
[[nodiscard]] ShortRows lengthened(const ShortRows& rows,
                                   const std::vector<std::vector<std::int64_t>>& starts,
                                   const Part& part);

}  // namespace ripeline::optimise
