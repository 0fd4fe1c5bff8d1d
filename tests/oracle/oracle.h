// Oracle: judges a program naively, by visiting every state that its meaning allows.
//
// The rules are in World. Tasks start and end and messages arrive one event at a time; no states
// are merged or skipped. It is for small programs only: beyond a number of states it gives up, and
// a program too large for a World is not visited completely. Plain functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "spec/program.h"
#include "tests/oracle/world.h"

namespace ripeline::oracle {

struct Answer {
  bool complete = false;  // every reachable state was visited
  bool sticks = false;    // some reachable state has tasks left but no next event
  std::size_t states = 0;
  std::vector<std::int64_t> peaks;  // the most that each pool holds in any state
};

[[nodiscard]] World world_of(const spec::Program& program, int microbatches, Choices choices);

[[nodiscard]] Answer explore(const spec::Program& program, int microbatches, Choices choices,
                             std::size_t most_states);

// Whether, for a committed order, each rank's list contains each of its tasks exactly once.
[[nodiscard]] bool lists_each_task_once(const spec::Program& program, int microbatches);

}  // namespace ripeline::oracle
