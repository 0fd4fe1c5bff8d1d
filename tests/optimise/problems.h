// Problems for tests of optimise/.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "optimise/problem.h"
#include "optimise/uniform.h"
#include "simulate/timing.h"
#include "spec/diagnostics.h"
#include "tests/optimise/every_order.h"

namespace ripeline::optimise {

// A program and its scheduling problem. Times are the program's costs, in milliseconds.
struct Posed {
  spec::Source source;
  std::unique_ptr<Problem> problem;
};
[[nodiscard]] Posed posed(const std::string& text, int microbatches, double latency,
                          Objective objective = Objective::makespan);
// The problem of an even model with these times, which are in the units of the model.
[[nodiscard]] Posed posed(const Uniform& uniform, Objective objective = Objective::makespan);

// The value of the environment variable `name` (RIPELINE_SEED or RIPELINE_CASES), or `otherwise`.
[[nodiscard]] std::uint64_t setting(const char* name, std::uint64_t otherwise);

// A random program that may use all features, with random costs and options for its runs' times.
struct Drawn {
  std::string text;
  int microbatches = 1;
  simulate::TimingOptions times;
};
[[nodiscard]] Drawn drawn(std::uint64_t seed);

// A problem so small that every order can be visited, and its program.
[[nodiscard]] testing_support::TinyProblem tiny_problem(std::uint64_t seed);
[[nodiscard]] std::string text_of(const testing_support::TinyProblem& problem);

// The nanoseconds in one unit of the programs' costs.
inline constexpr Time kUnit = 1'000'000;

}  // namespace ripeline::optimise
