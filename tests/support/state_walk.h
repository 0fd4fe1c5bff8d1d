// Visits every state of each rank at small sizes with two arbiters: the interpreter, and another
// one that must offer and choose the same.
//
// A rank's states are those that its own events reach if a message may arrive once this rank's own
// tasks allow it: a message whose producer needs, through other ranks, a task of this rank cannot
// arrive before that task has ended. All states that the rank has in runs of the pipeline are among
// them. In every state all ready tasks are started, not only the chosen one, and every event is
// applied to every state, even if it leads to a known one. For a hint with patience, time passes
// between events, the choice is requested at several times, and the walk is made three times:
// without notices, with messages expected, and also with all of the rank's messages taken.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/arbiter.h"
#include "spec/program.h"

namespace ripeline::testing_support {

struct WalkLimits {
  int counts = 3;                       // the number of microbatch counts, from the least allowed
  std::int64_t states_of_rank = 5'000;  // per rank and count
  std::int64_t states = 50'000;         // for all counts; counts beyond this limit are left out
};

struct WalkedStates {
  std::string difference;   // the first difference: its rank, the earlier events and both answers
  std::int64_t states = 0;  // in all ranks and counts
  int complete = 0;         // the number of counts for which all states were visited
};

// `make` makes a rank's arbiter.
[[nodiscard]] WalkedStates walk_states(
    const spec::Program& program,
    const std::function<std::unique_ptr<core::Arbiter>(int rank)>& make,
    const WalkLimits& limits = {});

}  // namespace ripeline::testing_support
