// Costs: what tasks and messages take on average, for hints that wait.
//
// They come from the program's costs, a measured profile or running means. No verdict depends on
// them: wrong ones cost time only. A plain value.
#pragma once

#include <vector>

#include "core/task.h"

namespace ripeline::core {

struct Costs {
  std::vector<Time> tasks;    // per lane: one task
  std::vector<Time> links;    // per edge: from its producer's end to its arrival
  std::vector<Time> notices;  // per edge: of a notice, between the same ranks
};

}  // namespace ripeline::core
