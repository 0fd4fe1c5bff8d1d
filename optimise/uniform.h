// The simplest thing to optimise: a model cut evenly, of which every stage and every microbatch
// costs the same, trained with a split backward.
//
// On a chain each rank has one stage. On a V placement it has two, of which the second lies on the
// way back up (rank r has stages r and 2p-1-r). A rank holds an activation of a stage from the
// start of F to the end of W. Times are integers in a unit of the caller's.
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
  std::int64_t forward = 1;                                  // per stage; > 0, as the next two
  std::int64_t input = 1;
  std::int64_t weight = 1;
  std::int64_t latency = 0;  // per message between ranks; >= 0
  int memory = 4;            // activations of one stage that a rank holds at most; > 0
  // With bytes `memory` is in their unit: what F takes, and what of it W gives back, the rest being
  // given back by I. Only the rules of a chain and timed() know it.
  int activation = 1;
  int after_input = 1;
};

// Stages of a rank.
[[nodiscard]] inline int chunks_of(const Uniform& problem) {
  return problem.placement == pytorch::Placement::v ? 2 : 1;
}
// Whether each stage of a rank has room for one forward: exactly then there is an order.
[[nodiscard]] inline bool has_order(const Uniform& problem) {
  return problem.memory / problem.activation >= chunks_of(problem);
}

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();  // a time

// The measure of a schedule: the end of its last task, or the largest over ranks of the time
// from a rank's own first start to its last end.
enum class Objective { wall, span };
[[nodiscard]] inline const char* name_of(Objective objective) {
  return objective == Objective::wall ? "wall" : "span";
}

// A legal order of all tasks, and what the search says of it.
struct FoundOrder {
  std::vector<std::vector<pytorch::Action>> rows;  // one per rank, in the order in which they run
  std::int64_t span = 0;
  std::int64_t wall = 0;
  int peak = 0;  // activations of a stage that a rank holds at most
};

}  // namespace ripeline::optimise
