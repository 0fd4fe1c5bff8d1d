// The clock and the coordinates of one run. The types of a schedule are in core/vocabulary/.
#pragma once

#include <chrono>

#include "core/vocabulary/task.h"

namespace ripeline::core {

// Time since an arbitrary start, which each rank chooses for itself, as hosts share no clock.
using Time = std::chrono::nanoseconds;

// The coordinates of a process: its replica of the pipeline, its rank in the replica, and its
// member number in the rank's tensor-parallel group.
struct Coordinates {
  int replica = 0;
  int rank = 0;
  int member = 0;
  bool operator==(const Coordinates&) const = default;
};

}  // namespace ripeline::core
