// Of one run: its clock, and who one is. The nouns of the schedule are in core/vocabulary/.
#pragma once

#include <chrono>

#include "core/vocabulary/task.h"

namespace ripeline::core {

// Time since an arbitrary start that one rank chose. Hosts share no clock.
using Time = std::chrono::nanoseconds;

// Who one is: which copy of the pipeline, which rank of it, which member of the rank's
// tensor-parallel group.
struct Coordinates {
  int replica = 0;
  int rank = 0;
  int member = 0;
  bool operator==(const Coordinates&) const = default;
};

}  // namespace ripeline::core
