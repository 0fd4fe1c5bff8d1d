// Makes orders for more microbatches from an order for few, by repeating a part of it once.
//
// If the memory is small, a good order soon becomes periodic, and an order for few microbatches is
// found much faster. The repeated part is the tasks of `period` microbatches, from `first` on. Each
// of them is copied one cycle later, and all later tasks move by one cycle. A cycle is the longest
// time from a task to the same task `period` microbatches later, in the part. Pure; thread-safe.
#pragma once

#include <vector>

#include "optimise/model.h"

namespace ripeline::optimise {

struct Part {
  int first = 0;   // microbatch
  int period = 1;  // microbatches
};

// The model must be even and have at least first + 2 * period microbatches; `starts` must be those
// of a legal order. The result may need more memory than the model has.
[[nodiscard]] Rows lengthened(const Model& model, const std::vector<Time>& starts,
                              const Part& part);

}  // namespace ripeline::optimise
