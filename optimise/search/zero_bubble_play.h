// Makes orders from sequences of forwards and input gradients, one sequence per rank. Only
// zero_bubble.cpp uses this file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "optimise/uniform.h"

namespace ripeline::optimise {

struct Step {
  pytorch::ActionKind kind = pytorch::ActionKind::forward;  // or backward_input
  int chunk = 0;                                            // 1 on the way up of a V placement
  bool operator==(const Step&) const = default;
};
using Sequence = std::vector<Step>;       // for one rank; each step runs its lane's next microbatch
using Sequences = std::vector<Sequence>;  // one per rank

// Runs steps as soon as possible. A rank runs weight gradients while its next step lacks memory, or
// inputs that arrive `gap` or more later. nullopt if the memory is too small or if ranks deadlock.
[[nodiscard]] std::optional<FoundOrder> fill(const Uniform& uniform, const Sequences& sequences,
                                             std::int64_t gap);

struct Leeway {
  std::int64_t gap = 1;        // as in fill()
  std::size_t window = 6;      // the number of a rank's next steps that are looked at
  bool weights_first = false;  // whether a weight gradient is preferred to a later step
};
// Returns changed sequences: a rank whose next step is not ready takes a later step that is ready,
// if the remaining steps then still fit into the memory. nullopt for the same reasons as fill().
[[nodiscard]] std::optional<Sequences> pulled_forward(const Uniform& uniform,
                                                      const Sequences& sequences,
                                                      const Leeway& leeway);

}  // namespace ripeline::optimise
