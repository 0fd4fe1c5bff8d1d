// The runs of an order, which expand() (spec/program.h) flattens and elaborate() checks. Private to
// spec/.
//
// A run is a group of lanes and the number of its repeats. Without streams the number of runs does
// not depend on the number of microbatches; with streams it grows with the turns of their loops.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/program.h"

namespace ripeline::spec {

// The most tasks that one expansion may give a rank.
inline constexpr std::int64_t kMostOrderTasks = 10'000'000;

struct OrderRun {
  std::vector<int> lanes;
  std::int64_t count = 0;  // > 0 once expanded
};

// For each rank, its stages by chunk.
[[nodiscard]] std::vector<std::vector<int>> stages_by_rank(const Program& program);

// The budget of an expansion. Each of these costs one: a turn of a stream's loops, an item of a
// stream's group that is skipped, and a run.
struct ExpansionWork {
  std::int64_t left = 0;
  bool ran_out = false;  // if true, the result is order-too-long, which proves nothing
};

// Like expand(), but as runs; `stages` has the rank's stages by chunk. Not for orders from files.
[[nodiscard]] Result<std::vector<OrderRun>> expand_runs(const Program& program, const Order& order,
                                                        int rank, int microbatches,
                                                        const std::vector<int>& stages,
                                                        ExpansionWork& work);

}  // namespace ripeline::spec
