// Orders played from sequences of forwards and input gradients, one per rank. Used by
// zero_bubble.cpp alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "optimise/uniform.h"

namespace ripeline::optimise {

struct Step {
  spec::ActionKind kind = spec::ActionKind::forward;  // or backward_input
  int chunk = 0;                                      // 1: on the way up of a V placement
  bool operator==(const Step&) const = default;
};
using Sequence = std::vector<Step>;       // one rank's; each step is its lane's next microbatch
using Sequences = std::vector<Sequence>;  // one per rank

// Each step runs as soon as it can. A weight gradient runs where the next step comes at least `gap`
// later, or needs its room. Nothing: the memory does not suffice, or the ranks wait for each other.
[[nodiscard]] std::optional<FoundOrder> fill(const Uniform& uniform, const Sequences& sequences,
                                             std::int64_t gap);

struct Leeway {
  std::int64_t gap = 1;        // as of fill()
  std::size_t window = 6;      // steps of a rank that are looked at
  bool weights_first = false;  // rather than a later step
};
// The sequences in which the steps run when a rank whose next one is not ready takes a later one
// that is, wherever the rest then still fits into the memory. Nothing: as of fill().
[[nodiscard]] std::optional<Sequences> pulled_forward(const Uniform& uniform,
                                                      const Sequences& sequences,
                                                      const Leeway& leeway);

}  // namespace ripeline::optimise
