// Costs: the average durations of tasks and messages, for hints that wait.
//
// They come from the program's costs, from a measured profile or from running means. No verdict
// depends on costs, so wrong costs only waste time. A plain value.
#pragma once

#include <vector>

#include "core/task.h"

namespace ripeline::core {

struct Costs {
  std::vector<Time> tasks;  // per lane: the duration of one task
  // Durations by lane and microbatch, where known; `tasks` has the others. May be empty.
  std::vector<std::vector<Time>> varying;
  std::vector<Time> links;    // per edge: from its producer's end to the message's arrival
  std::vector<Time> notices;  // per edge: for a notice between the same ranks

  [[nodiscard]] Time of(Task task) const {
    const auto lane = static_cast<std::size_t>(task.lane);
    const auto microbatch = static_cast<std::size_t>(task.microbatch);
    const bool varies = lane < varying.size() && microbatch < varying[lane].size();
    return varies ? varying[lane][microbatch] : tasks[lane];
  }
};

}  // namespace ripeline::core
