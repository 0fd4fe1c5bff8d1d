// Two arbiters of every rank through every state of it at small sizes: the interpreter, and one
// that must offer and choose the same.
//
// A rank's states are those that its own events reach when a message may arrive as soon as this
// rank's own tasks let it: a message whose producer needs, over other ranks, a task of this rank
// cannot come before that task has ended. The states that the whole pipeline reaches are among
// them. In every state all ready tasks are started, not the chosen one alone, and every event is
// taken from every state, also when it leads to a known one. For a hint with patience, time passes
// between events, the choice is asked for at several times, and the walk is made three times: with
// nothing noticed, with messages expected, and with all of its own taken.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/arbiter.h"
#include "spec/program.h"

namespace ripeline::testing_support {

struct WalkLimits {
  int counts = 3;                       // this many of the fewest microbatch counts in range
  std::int64_t states_of_rank = 5'000;  // per rank and count
  std::int64_t states = 50'000;         // in all; a count that does not fit is left out
};

struct WalkedStates {
  std::string difference;   // the first: the rank, the events before and both answers
  std::int64_t states = 0;  // in all ranks and counts
  int complete = 0;         // counts of which all states were walked
};

// `make` makes a rank's arbiter.
[[nodiscard]] WalkedStates walk_states(
    const spec::Program& program,
    const std::function<std::unique_ptr<core::Arbiter>(int rank)>& make,
    const WalkLimits& limits = {});

}  // namespace ripeline::testing_support
