// Checks a search's order by the verifier and the simulator, which are independent of the search.
//
// The order is written as a program, compiled, judged for every timing, and run by the simulator
// with the times that were asked for. A search times orders by code of its own. It is a defect of
// Ripeline if the search's times or peaks differ from the simulator's, if the program is not
// proved, or if a lower bound, of the problem or of the written program, is above the simulated
// time. A defect is reported as one, and no schedule is returned. One thread.
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

// A found order that was proved, and simulated with the times and peaks that the search gave it.
struct Certified {
  std::string text;  // the program, in the canonical layout
  spec::Program program;
  verify::Verdict verdict;  // proved
  core::OwnedFacts facts;
  simulate::Timing timing;
  simulate::RunReport run;  // with causes
  trace::Record record;
};

// The result of a search that has to be certified.
struct Claim {
  const Problem& problem;
  const spec::Source& source;  // from which the problem's program was compiled
  spec::ReadFile read_file;    // as in ElaborateOptions
  Bound bound;                 // in nanoseconds; no order takes less
  TimedOrder order;
};
// Compiles a text with the claim's orders, which may read the same files as the claim's source.
[[nodiscard]] spec::Result<spec::Program> compiled(const Claim& claim, const std::string& text);
// The error for a defect of Ripeline, which `what` describes.
[[nodiscard]] spec::Diagnostic defect(const std::string& what);
// The claim of a search that found an order; the search must outlive it.
[[nodiscard]] Claim claim_of(const FormSearch& search, const spec::ReadFile& read_file);
// Certifies the claim. `comments` are those of with_order(). An error is a sentence on a defect.
[[nodiscard]] spec::Result<Certified> certified(const Claim& claim,
                                                const std::vector<std::string>& comments);

// The order of a certified claim as a program for every count of microbatches from a least one on.
// For the claim's count the order is the same; the program is proved for all counts. nullopt if no
// part of some row repeats with one microbatch a turn, or if the program is not proved.
[[nodiscard]] std::optional<std::string> for_every_count(const Claim& claim,
                                                         const std::vector<std::string>& comments);

}  // namespace ripeline::optimise
