// Every count of microbatches of a committed order, without a solver.
//
// The order is plain repeats for the counts of one remainder (periods.h): there each task is listed
// once, has room, and has a time that is greater than those of all that it waits for (times.h). The
// counts for which these repeats do not hold yet are judged by their graphs. It proves what cuts
// prove of an order without a stuck cut, in time that is linear in the ranks; what it does not
// prove is left to cuts. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spec/program.h"

namespace ripeline::verify {

// Tasks, over all counts, for which graphs are built.
inline constexpr std::int64_t kMostGraphTasks = 20'000'000;

struct EveryCount {
  bool memory = false;  // every asserted peak holds, and these are no less than what is held:
  std::vector<std::optional<std::int64_t>> bounds{};  // per pool; nothing: it grows
};

// The proof that an order has each task once and never sticks, whatever the count in range;
// nothing: that is not known.
[[nodiscard]] std::optional<EveryCount> prove_every_count(const spec::Program& program);

}  // namespace ripeline::verify
