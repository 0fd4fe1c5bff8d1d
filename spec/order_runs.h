// The runs of an order: what expand() (spec/program.h) flattens, and what elaborate() checks.
// Private to spec/.
//
// A run is a group of lanes and how often it is repeated. Without streams their number does not
// grow with the microbatches; with streams it grows with the turns of their loops.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/program.h"

namespace ripeline::spec {

// The most tasks of a rank in one expansion.
inline constexpr std::int64_t kMostOrderTasks = 10'000'000;

struct OrderRun {
  std::vector<int> lanes;
  std::int64_t count = 0;  // > 0 once expanded
};

// Per rank, its stages by chunk.
[[nodiscard]] std::vector<std::vector<int>> stages_by_rank(const Program& program);

// The budget of an expansion: a turn of a stream's loops, an item of a stream's group that is
// passed over, and a run cost one each.
struct ExpansionWork {
  std::int64_t left = 0;
  bool ran_out = false;  // then the result is order-too-long and says nothing of the order
};

// As expand(), without the microbatches; `stages` are those of the rank, by chunk. Not of a file.
[[nodiscard]] Result<std::vector<OrderRun>> expand_runs(const Program& program, const Order& order,
                                                        int rank, int microbatches,
                                                        const std::vector<int>& stages,
                                                        ExpansionWork& work);

}  // namespace ripeline::spec
