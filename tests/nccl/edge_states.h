// All runs of a program over edges of NCCL, or as many as a limit allows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/nccl/edge_run.h"

namespace ripeline::testing_support {

struct EdgeStates {
  bool all = false;              // every state was visited, and each comes to the end of all tasks
  bool stuck = false;            // a state from which nothing goes on
  std::string wrong;             // the fault of a run in which a rank took what was not there
  std::int64_t states = 0;       // visited
  std::vector<std::string> run;  // the shortest stuck or wrong run, one event per element, in words
  std::string waits;             // at the end of that run
};

// Breadth first. A state is come to by running from the beginning again.
[[nodiscard]] EdgeStates visit_edge_states(const spec::Machine& machine, const EdgeRules& rules,
                                           std::int64_t most_states);

}  // namespace ripeline::testing_support
