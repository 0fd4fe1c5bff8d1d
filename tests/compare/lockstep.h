// Lockstep: spec/machine and the oracle side by side.
//
// They go on by the same events. In each state that the oracle reaches, Machine has the same: tasks
// that wait, run and have ended, messages that have arrived, room held, what may happen next, and
// whether it sticks. Plain functions.
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
  std::string disagreement;  // empty: none
};

[[nodiscard]] Lockstep walk_in_lockstep(const spec::Program& program, int microbatches,
                                        oracle::Choices choices, std::size_t most_states);

// The oracle's account of a run.
struct Replay {
  bool fits = false;               // else nothing else is said
  std::string objection;           // the first event that may not happen; empty: none
  bool sticks = false;             // at its end
  std::vector<std::int64_t> held;  // per pool, at its end
};

[[nodiscard]] Replay replay(const spec::Program& program, int microbatches, oracle::Choices choices,
                            const std::vector<spec::Event>& events);

}  // namespace ripeline::compare
