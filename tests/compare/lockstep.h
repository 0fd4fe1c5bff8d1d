// Lockstep: runs spec/machine and the oracle side by side.
//
// Both take the same events. In each state that the oracle reaches, Machine must agree on the tasks
// that wait, run and have ended, the messages that have arrived, the room held, the possible next
// events, and whether the state is stuck. Plain functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "spec/machine.h"
#include "spec/program.h"
#include "tests/oracle/oracle.h"

namespace ripeline::compare {

struct Lockstep {
  bool complete = false;  // every state was visited
  std::size_t states = 0;
  std::string disagreement;  // the first disagreement; empty if there is none
};

[[nodiscard]] Lockstep walk_in_lockstep(const spec::Program& program, int microbatches,
                                        oracle::Choices choices, std::size_t most_states);

// The oracle's view of a run.
struct Replay {
  bool fits = false;               // if false, the rest is empty
  std::string objection;           // the first event that may not happen; empty if all may
  bool sticks = false;             // the run's end is stuck
  std::vector<std::int64_t> held;  // per pool, at the run's end
};

[[nodiscard]] Replay replay(const spec::Program& program, int microbatches, oracle::Choices choices,
                            const std::vector<spec::Event>& events);

}  // namespace ripeline::compare
