// Per rank: how many tasks of a kind a rank has in a step, over all of its stages, and how the
// memory that a rank holds is counted.
//
// Schedules cut a rank's part of the model into different numbers of stages. With one forward at
// each of K stages, every microbatch has K forwards on the rank, each through a K-th of its layers.
// Where each stage has half of the microbatches, as in Chimera, a microbatch has one forward for
// every two stages. `Lane` and `Op` are the types of a Program or of ProgramFacts. Pure functions.
//
// A rank holds the amounts that its tasks have acquired and not yet released, in all pools of a
// resource together. The unit of an amount is that of the resource; if the resource has no unit and
// each task acquires 1, amounts are activations of a stage. Peaks, capacities and assertions are in
// these amounts. Programs that cut a rank's layers differently are compared in microbatches of the
// whole rank: an activation of all its layers counts 1, and an activation of one of K stages 1/K.
// Memory limits that flags give without a unit are in microbatches of the whole rank, too.
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

// The number of tasks of `kinds` on each rank, without those of `once` lanes.
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

// The unit of a resource's amounts, as text: the declared unit if there is one. For a resource that
// counts activations, a unit is named only if some rank has several stages, since elsewhere an
// activation of a stage is an activation of the whole rank.
[[nodiscard]] constexpr std::string_view unit_of_amounts(std::string_view unit, bool activations,
                                                         bool several_stages) {
  return unit.empty() && activations && several_stages ? "activations of a stage" : unit;
}

// Converts activations of stages that a rank holds to microbatches of the whole rank; `forwards` is
// the number of forwards that the rank runs in the step.
[[nodiscard]] constexpr double in_microbatches(std::int64_t activations, std::int64_t forwards,
                                               int microbatches) {
  return forwards == 0
             ? static_cast<double>(activations)
             : static_cast<double>(activations * microbatches) / static_cast<double>(forwards);
}

}  // namespace ripeline::core
