// The least wall time and span of a uniform problem, by going through every order. Tests only.
//
// It shares nothing with optimise/. One task after the other is appended to a rank; of the same
// number of tasks in each lane, only those ends are kept that no other has all as early or earlier.
// Microbatches of a lane go in order, which loses nothing where all cost the same. For a few ranks
// and microbatches; nothing if no order keeps to the memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace ripeline::testing_support {

struct TinyProblem {
  bool v = false;  // else a chain, or a loop of `chunks` stages on a rank
  int ranks = 1;
  int microbatches = 1;
  std::int64_t forward = 1;
  std::int64_t input = 1;
  std::int64_t weight = 1;
  std::int64_t latency = 0;
  std::int64_t memory = 1;
  // Units of it that F takes, and those left of them from the end of I to the end of W.
  std::int64_t activation = 1;
  std::int64_t after_input = 1;
  // Costs of F, I and W, stage by stage, where stages differ; else empty.
  std::vector<std::int64_t> takes = {};
  int chunks = 1;
  // How many times `activation` and `after_input` each stage holds, where stages differ; else
  // empty.
  std::vector<std::int64_t> amounts = {};
};

[[nodiscard]] std::optional<std::int64_t> least_wall(const TinyProblem& problem);
// Tries each start of each rank; costs are small.
[[nodiscard]] std::optional<std::int64_t> least_span(const TinyProblem& problem);

}  // namespace ripeline::testing_support
