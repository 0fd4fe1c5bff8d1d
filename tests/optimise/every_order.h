// The least wall time and span of a uniform problem, by visiting every order. For tests only.
//
// This search shares nothing with optimise/. It appends one task after another to a rank. It
// compares states with the same number of tasks in each lane, and drops a state if each of its ends
// is no earlier than in another one. Microbatches of a lane run in order, which loses nothing since
// all cost the same. For a few ranks and microbatches only; nullopt if no order fits the memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace ripeline::testing_support {

struct TinyProblem {
  bool v = false;  // else a chain, or a loop of `chunks` stages per rank
  int ranks = 1;
  int microbatches = 1;
  std::int64_t forward = 1;
  std::int64_t input = 1;
  std::int64_t weight = 1;
  std::int64_t latency = 0;
  std::int64_t memory = 1;
  // The units that F acquires, and the units that are held from the end of I to the end of W.
  std::int64_t activation = 1;
  std::int64_t after_input = 1;
  // The costs of F, I and W of each stage if stages differ; empty if they do not.
  std::vector<std::int64_t> takes = {};
  int chunks = 1;
  // The factor of `activation` and `after_input` for each stage if stages differ; empty if they do
  // not.
  std::vector<std::int64_t> amounts = {};
};

[[nodiscard]] std::optional<std::int64_t> least_makespan(const TinyProblem& problem);
// Tries every start time of each rank, so costs must be small.
[[nodiscard]] std::optional<std::int64_t> least_span(const TinyProblem& problem);

}  // namespace ripeline::testing_support
