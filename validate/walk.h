// walk: a script that leads an arbiter through every state of each rank at small sizes, and what
// the interpreter answers there.
//
// A rank's states are those that its own events reach when a message may arrive as soon as this
// rank's own tasks let it: a message whose producer needs, over other ranks, a task of this rank
// cannot come before that task has ended. The states that the whole pipeline reaches are among
// them. In every state all ready tasks are started, not the chosen one alone, and every event is
// taken from every state, also when it leads to a known one. For a hint with patience, time passes
// between events, the choice is asked for at several times, and the walk is made three times: with
// nothing noticed, with messages expected, and with all of its own taken. Pure; needs memory for
// the states.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/program.h"

namespace ripeline::simulate {

struct WalkLimits {
  int counts = 3;                       // this many of the fewest microbatch counts in range
  std::int64_t states_of_rank = 5'000;  // per rank and count
  std::int64_t states = 50'000;         // in all; a count that does not fit is left out
};

struct Walk {
  std::string script;    // as validate/probe/probe.h reads it
  std::string expected;  // what play() must answer
  struct Size {
    int microbatches = 0;
    std::int64_t states = 0;
    bool complete = true;  // false: the limit left states out
  };
  std::vector<Size> sizes;  // all ranks together
};

[[nodiscard]] Walk walk_of(const spec::Program& program, const WalkLimits& limits = {});

// Where the answers to a script first differ: the rank, the events before and both answers.
// Nothing: nowhere.
[[nodiscard]] std::optional<std::string> first_difference(const spec::Program& program,
                                                          const std::string& script,
                                                          const std::string& expected,
                                                          const std::string& found);

}  // namespace ripeline::simulate
