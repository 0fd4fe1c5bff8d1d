// Per rank: how many tasks of a kind a rank has in a step, over all of its stages, and how what it
// holds is counted.
//
// Schedules cut what a rank has of the model into different numbers of stages. With one forward at
// each of K stages, every microbatch has K forwards on the rank, each of them a K-th of its layers;
// where each stage has half of the microbatches, as in Chimera, it has one of two stages. `Lane`
// and `Op` are those of a Program or of ProgramFacts. Pure functions.
//
// Memory has one meaning. A rank holds of a resource what its tasks have acquired and not yet
// released, in all of its pools together, in the program's own amounts: the resource's unit, or
// activations of a stage where it has none and each task acquires one. Peaks, capacities and
// assertions are in these. Programs that cut a rank's layers differently are compared in
// microbatches of the whole rank: what a microbatch holds in all of its layers counts 1, and of K
// stages an activation of one counts 1/K. So are memories that flags give without a unit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
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

// The unit of a resource's amounts, for people: its own if it has one. If it counts activations,
// one is given only where some rank has several stages, since elsewhere an activation of a stage is
// that of the whole rank.
[[nodiscard]] constexpr std::string_view unit_of_amounts(std::string_view unit, bool activations,
                                                         bool several_stages) {
  return unit.empty() && activations && several_stages ? "activations of a stage" : unit;
}

// Activations of stages that a rank holds, in microbatches of the whole rank; `forwards` is how
// many the rank has in the step.
[[nodiscard]] constexpr double in_microbatches(std::int64_t activations, std::int64_t forwards,
                                               int microbatches) {
  return forwards == 0
             ? static_cast<double>(activations)
             : static_cast<double>(activations * microbatches) / static_cast<double>(forwards);
}

}  // namespace ripeline::core
