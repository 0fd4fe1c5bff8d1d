// Problems that tests of optimise/ pose.
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

// A program's problem, which must be one. Times are those of its costs, in units of a millisecond.
struct Posed {
  spec::Source source;
  std::unique_ptr<Problem> problem;
};
[[nodiscard]] Posed posed(const std::string& text, int microbatches, double latency,
                          Objective objective = Objective::wall);
// The even model of these times, in its units.
[[nodiscard]] Posed posed(const Uniform& uniform, Objective objective = Objective::wall);

// RIPELINE_SEED and RIPELINE_CASES choose which programs are drawn, and how many.
[[nodiscard]] std::uint64_t setting(const char* name, std::uint64_t otherwise);

// A random program of all features, with random costs, and times to run it with.
struct Drawn {
  std::string text;
  int microbatches = 1;
  simulate::TimingOptions times;
};
[[nodiscard]] Drawn drawn(std::uint64_t seed);

// One small enough to go through every order, and its program.
[[nodiscard]] testing_support::TinyProblem tiny_problem(std::uint64_t seed);
[[nodiscard]] std::string text_of(const testing_support::TinyProblem& problem);

// How many nanoseconds a unit of the programs is.
inline constexpr Time kUnit = 1'000'000;

}  // namespace ripeline::optimise
