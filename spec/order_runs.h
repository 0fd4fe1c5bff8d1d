// The runs of an order: what expand() flattens. Private to spec/.
//
// A run is a group of lanes and how often it is repeated, so its size does not grow with the
// microbatches.
#pragma once

#include <vector>

#include "spec/program.h"

namespace ripeline::spec {

struct OrderRun {
  std::vector<int> lanes;
  std::int64_t count = 0;  // > 0 once expanded
};

// Of each rank, its stages by chunk.
[[nodiscard]] std::vector<std::vector<int>> stages_by_rank(const Program& program);

// As expand(); `stages` are those of the rank, by chunk.
[[nodiscard]] Result<std::vector<OrderRun>> expand_runs(const Program& program, const Order& order,
                                                        int rank, int microbatches,
                                                        const std::vector<int>& stages);

}  // namespace ripeline::spec
