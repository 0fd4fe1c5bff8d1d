// The choice by a hint's priorities: the task with the greatest value among those that may start.
#pragma once

#include <cstdint>
#include <span>

#include "core/vocabulary/hint.h"
#include "core/vocabulary/task.h"

namespace ripeline::core {

// The task of `lanes` that may start and has the greatest value; among equal values the first by
// lane, then by microbatch; Task{} if none may start. `next(lane, from)` is the lane's lowest
// microbatch, not below `from`, that may start, or -1. `value(task)` is called for each task that
// may start, or only for the lane's lowest one if the lane does not tell its tasks apart.
template <class Next, class Value>
[[nodiscard]] Task greatest(std::span<const Hint::Valued> lanes, const Next& next,
                            const Value& value) {
  Task best;
  std::int64_t most = 0;
  for (const Hint::Valued& valued : lanes) {
    for (int m = next(valued.lane, 0); m >= 0;
         m = valued.tells_apart ? next(valued.lane, m + 1) : -1) {
      const std::int64_t its = value(Task{valued.lane, m});
      if (best.lane >= 0 && its <= most) continue;
      most = its;
      best = {valued.lane, m};
    }
  }
  return best;
}

}  // namespace ripeline::core
