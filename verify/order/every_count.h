// Every count of microbatches of a committed order, without a solver.
//
// For the counts of one remainder the order is plain repeats (periods.h), in which each task is
// listed once, has room, and has a time greater than those of all tasks that it waits for
// (times.h). Counts too small for these repeats are judged by their graphs. Like cuts, this proves
// that an order has no stuck cut, in time that is linear in the ranks; orders that it cannot prove
// are left to cuts. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spec/program.h"

namespace ripeline::verify {

// The most tasks, over all counts, for which graphs are built.
inline constexpr std::int64_t kMostGraphTasks = 20'000'000;

struct EveryCount {
  bool memory = false;  // true if asserted peaks hold and `bounds` are never exceeded
  std::vector<std::optional<std::int64_t>> bounds{};  // per pool; nullopt if the amount grows
};

// Proves that an order has each task once and never sticks, for each count in range; nullopt if
// that could not be proved.
[[nodiscard]] std::optional<EveryCount> prove_every_count(const spec::Program& program);

}  // namespace ripeline::verify
