// How long a program takes in whole units of its costs, when every link takes `latency` of them.
// Tests only; on the virtual clock of simulate/.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spec/program.h"

namespace ripeline {

struct Makespan {
  std::int64_t wall = 0;
  std::int64_t span = 0;            // over ranks, the largest of last end - first start
  std::int64_t work = 0;            // the busiest rank's
  std::vector<std::int64_t> peaks;  // per pool: the most it holds
};

// Nothing: it sticks, or its order cannot be expanded, or a time is no whole number of units.
[[nodiscard]] std::optional<Makespan> makespan_of(const spec::Program& program, int microbatches,
                                                  std::int64_t latency);

}  // namespace ripeline
