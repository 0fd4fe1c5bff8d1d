// The time that a program takes, in integer units of its costs, if every link takes `latency`
// units. For tests only; uses the virtual clock of simulate/.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spec/program.h"

namespace ripeline {

struct Makespan {
  std::int64_t makespan = 0;
  std::int64_t span = 0;            // over ranks, the largest of last end - first start
  std::int64_t work = 0;            // work of the busiest rank
  std::vector<std::int64_t> peaks;  // the most that each pool holds
};

// nullopt if the program deadlocks, its order cannot be expanded, or a time is not a whole number.
[[nodiscard]] std::optional<Makespan> makespan_of(const spec::Program& program, int microbatches,
                                                  std::int64_t latency);

}  // namespace ripeline
