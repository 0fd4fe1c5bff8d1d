// Per rank: how many tasks of a kind a rank has in a step, over all of its stages.
//
// Schedules cut what a rank has of the model into different numbers of stages. With one forward at
// each of K stages, every microbatch has K forwards on the rank, each of them a K-th of its layers;
// where each stage has half of the microbatches, as in Chimera, it has one of two stages. `Lane`
// and `Op` are those of a Program or of ProgramFacts. A pure function.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "core/vocabulary/need.h"
#include "core/vocabulary/task.h"

namespace ripeline::core {

// Without tasks that run once in a step, which belong to no microbatch.
template <class Lanes, class Ops>
[[nodiscard]] std::vector<std::int64_t> tasks_per_rank(const Lanes& lanes, const Ops& ops,
                                                       int ranks,
                                                       std::initializer_list<OpKind> kinds,
                                                       int microbatches) {
  std::vector<std::int64_t> tasks(static_cast<std::size_t>(ranks), 0);
  for (const auto& lane : lanes) {
    const OpKind kind = ops[static_cast<std::size_t>(lane.op)].kind;
    if (lane.once || std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) continue;
    tasks[static_cast<std::size_t>(lane.rank)] += tasks_of(lane, microbatches);
  }
  return tasks;
}

}  // namespace ripeline::core
