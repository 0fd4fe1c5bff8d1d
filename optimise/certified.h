// What a search has found, proved and timed by those who know nothing of the search.
//
// The order is written as a program, compiled, judged for every timing, and run by the simulator
// with the program's own costs. A search times orders by code of its own; where that is not exactly
// what the simulator says, where the program is not proved, or where a lower bound, that of the
// problem or the general one of the program, is above what the simulator says, this is a defect of
// Ripeline and is reported as one: no schedule is returned then. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lower/facts.h"
#include "optimise/bounds/bounds.h"
#include "optimise/uniform.h"
#include "simulate/simulator.h"
#include "simulate/timing.h"
#include "spec/diagnostics.h"
#include "spec/program.h"
#include "trace/record.h"
#include "verify/verdict.h"

namespace ripeline::optimise {

// A found order that has passed.
struct Certified {
  std::string text;  // the program, in the canonical layout
  spec::Program program;
  verify::Verdict verdict;  // proved
  core::OwnedFacts facts;
  simulate::Timing timing;
  simulate::RunReport run;  // with causes
  trace::Record record;
};

// What a search says.
struct Claim {
  Uniform problem;
  std::int64_t unit = 1;  // as of program_text()
  Objective objective = Objective::wall;
  Bound bound;  // of the problem
  FoundOrder order;
};
// `comments` as of program_text(). Errors: a defect, in a sentence.
[[nodiscard]] spec::Result<Certified> certified(const Claim& claim,
                                                const std::vector<std::string>& comments);

}  // namespace ripeline::optimise
