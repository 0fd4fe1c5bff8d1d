// Oracle: the naive restatement of what programs mean, by visiting every state.
//
// Written from the comment of spec/program.h and spec/hint.h alone: it shares no code with
// spec/machine, spec/hint, spec::expand or verify/. Tasks start, end and messages arrive one event
// at a time; nothing is reduced. For small programs only: it gives up beyond a number of states.
// Plain functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "spec/program.h"

namespace ripeline::oracle {

struct Answer {
  bool complete = false;  // every reachable state was visited
  bool sticks = false;    // some reachable state has nothing to come, and tasks left
  std::size_t states = 0;
  std::vector<std::int64_t> peaks;  // per pool: the most it holds in any state
};

enum class Choices {
  any,       // any task that may start
  dispatch,  // what the program's dispatch takes
};

[[nodiscard]] Answer explore(const spec::Program& program, int microbatches, Choices choices,
                             std::size_t most_states);

// Under a committed order: each rank's list has each of its tasks exactly once.
[[nodiscard]] bool lists_each_task_once(const spec::Program& program, int microbatches);

}  // namespace ripeline::oracle
