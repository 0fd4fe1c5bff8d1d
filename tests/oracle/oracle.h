// Oracle: the naive restatement of what programs mean, by visiting every state.
//
// World has the rules. Tasks start, end and messages arrive one event at a time; nothing is
// reduced. For small programs only: it gives up beyond a number of states, and what does not fit a
// World is not complete. Plain functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "spec/program.h"
#include "tests/oracle/world.h"

namespace ripeline::oracle {

struct Answer {
  bool complete = false;  // every reachable state was visited
  bool sticks = false;    // some reachable state has nothing to come, and tasks left
  std::size_t states = 0;
  std::vector<std::int64_t> peaks;  // per pool: the most it holds in any state
};

[[nodiscard]] World world_of(const spec::Program& program, int microbatches, Choices choices);

[[nodiscard]] Answer explore(const spec::Program& program, int microbatches, Choices choices,
                             std::size_t most_states);

// Under a committed order: each rank's list has each of its tasks exactly once.
[[nodiscard]] bool lists_each_task_once(const spec::Program& program, int microbatches);

}  // namespace ripeline::oracle
