// Uniform: the simplest model to optimise. Its layers are cut evenly, all stages and microbatches
// have the same costs, and its backward is split into I and W.
//
// On a chain each rank has one stage. On a V placement each rank has two stages; the second one is
// on the way back up (rank r has stages r and 2p-1-r). A rank holds an activation of a stage from
// the start of F to the end of W. Times are integers, in any unit.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "pytorch/csv/actions.h"
#include "pytorch/lower.h"

namespace ripeline::optimise {

struct Uniform {
  pytorch::Placement placement = pytorch::Placement::chain;  // or v
  int ranks = 4;                                             // > 0
  int microbatches = 8;                                      // > 0
  std::int64_t forward = 1;                                  // per stage; > 0, as are the next two
  std::int64_t input = 1;
  std::int64_t weight = 1;
  std::int64_t latency = 0;  // per message between ranks; >= 0
  int memory = 4;            // the most activations of one stage that a rank holds; > 0
  // The amounts, in the unit of `memory`. F acquires `activation`; W releases `after_input`, and I
  // the rest. Values other than 1 are supported only by the rules of a chain and by timed().
  int activation = 1;
  int after_input = 1;
};

// The number of stages of a rank.
[[nodiscard]] inline int chunks_of(const Uniform& problem) {
  return problem.placement == pytorch::Placement::v ? 2 : 1;
}
// Whether a rank has room for one forward of each of its stages. Exactly then there is an order.
[[nodiscard]] inline bool has_order(const Uniform& problem) {
  return problem.memory / problem.activation >= chunks_of(problem);
}

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();  // never reached

// The measure of a schedule. `makespan` is the end of its last task; `span` is the largest over
// ranks of the time from a rank's first start to its last end.
enum class Objective { makespan, span };
[[nodiscard]] inline const char* name_of(Objective objective) {
  return objective == Objective::makespan ? "wall" : "span";
}

// A legal order of all tasks, with its times and peak.
struct FoundOrder {
  std::vector<std::vector<pytorch::Action>> rows;  // per rank: its tasks, in the order they run
  std::int64_t span = 0;
  std::int64_t makespan = 0;
  int peak = 0;  // the most activations of a stage that a rank holds
};

}  // namespace ripeline::optimise
