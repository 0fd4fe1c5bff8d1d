// The clock and the coordinates of one run. The nouns of the schedule are in core/vocabulary/.
#pragma once

#include <chrono>

#include "core/vocabulary/task.h"

namespace ripeline::core {

// Time since an arbitrary start that one rank chose. Hosts share no clock.
using Time = std::chrono::nanoseconds;

// A process's coordinates: its copy of the pipeline, its rank there, its member of the rank's
// tensor-parallel group.
struct Coordinates {
  int replica = 0;
  int rank = 0;
  int member = 0;
  bool operator==(const Coordinates&) const = default;
};

}  // namespace ripeline::core
