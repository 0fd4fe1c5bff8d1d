// A search's order, proved by the verifier and timed by the simulator, which know nothing of it.
//
// The order is written as a program, compiled, judged for every timing, and run by the simulator
// with the times that were asked for. A search times orders by code of its own; where that is not
// exactly what the simulator says, where the program is not proved, or where a lower bound, that of
// the problem or the general one of the written program, is above what the simulator says, this is
// a defect of Ripeline and is reported as one: no schedule is returned then. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lower/facts.h"
#include "optimise/problem.h"
#include "simulate/simulator.h"
#include "simulate/timing.h"
#include "spec/diagnostics.h"
#include "spec/elaborate.h"
#include "spec/program.h"
#include "trace/record.h"
#include "verify/verdict.h"

namespace ripeline::optimise {

class FormSearch;

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

// A search's result: an order, and the bound that no order is below.
struct Claim {
  const Problem& problem;
  const spec::Source& source;  // which the problem's program was compiled of
  spec::ReadFile read_file;    // as in ElaborateOptions
  Bound bound;                 // in nanoseconds
  Found order;
};
// The claim of a search that found an order; the search must outlive it.
[[nodiscard]] Claim claim_of(const FormSearch& search, const spec::ReadFile& read_file);
// `comments` as of with_order(). Errors: a defect, in a sentence.
[[nodiscard]] spec::Result<Certified> certified(const Claim& claim,
                                                const std::vector<std::string>& comments);

// A certified claim's order as a program for every count of microbatches from some least one on:
// the same order for this count, and proved for all. Nothing: no part of the rows repeats with one
// microbatch a turn, or the program is not proved.
[[nodiscard]] std::optional<std::string> for_every_count(const Claim& claim,
                                                         const std::vector<std::string>& comments);

}  // namespace ripeline::optimise
