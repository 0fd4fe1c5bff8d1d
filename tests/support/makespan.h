// How long a committed order takes: the longest path through its tasks. Tests only.
//
// Each task starts when the one before it on its rank has ended, and all it needs has ended, and
// arrived if it comes from another rank, `latency` later. Costs must be integers. One engine.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spec/program.h"

namespace ripeline {

struct Makespan {
  std::int64_t wall = 0;
  std::int64_t span = 0;            // over ranks, the largest of last end - first start
  std::int64_t work = 0;            // of the busiest rank
  std::vector<std::int64_t> peaks;  // per pool: the most it holds
};

// Nothing: it sticks, or its order cannot be expanded.
[[nodiscard]] std::optional<Makespan> makespan_of(const spec::Program& program, int microbatches,
                                                  std::int64_t latency);

}  // namespace ripeline
