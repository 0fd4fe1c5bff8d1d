// Visits all runs of a program over edges of NCCL, or as many as a limit allows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/nccl/edge_run.h"

namespace ripeline::testing_support {

struct EdgeStates {
  bool all = false;              // every state was visited, and from each all tasks can end
  bool stuck = false;            // some state has tasks left but no next event
  std::string wrong;             // the fault of a run in which a rank received a missing message
  std::int64_t states = 0;       // the number of visited states
  std::vector<std::string> run;  // the shortest stuck or wrong run, in words, one event per element
  std::string waits;             // the waits at the end of that run
};

// Searches breadth first; reaches each state by replaying its run from the beginning.
[[nodiscard]] EdgeStates visit_edge_states(const spec::Machine& machine, const EdgeRules& rules,
                                           std::int64_t most_states);

}  // namespace ripeline::testing_support
