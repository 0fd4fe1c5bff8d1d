// Checks a search's order by the verifier and the simulator, which are independent of the search.
//
// The order is written as a program, compiled, judged for every timing, and run by the simulator
// with the requested times. The search computes times by code of its own. There is a defect of
// Ripeline if the search's times or peaks differ from the simulator's, if the program isn't proved,
// or if a lower bound, of the problem or of the written program, is above the simulated time. Then
// the defect is returned as an error, and no schedule is returned. Not thread-safe.
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

// An order that was proved. Its simulated times and peaks equal those of the search.
struct Certified {
  std::string text;  // the program, in the canonical layout
  spec::Program program;
  verify::Verdict verdict;  // its outcome is `proved`
  core::OwnedFacts facts;
  simulate::Timing timing;
  simulate::RunReport run;  // with the causes of idle time
  trace::Record record;
};

// The order that a search found and claims to be correct; it is not yet certified.
struct Claim {
  const Problem& problem;
  const spec::Source& source;  // from which the problem's program was compiled
  spec::ReadFile read_file;    // as in ElaborateOptions
  Bound bound;                 // in nanoseconds; no order takes less time
  TimedOrder order;
};
// Compiles a text that has the claim's orders. It may read the same files as the claim's source.
[[nodiscard]] spec::Result<spec::Program> compiled(const Claim& claim, const std::string& text);
// Returns the error that reports a defect of Ripeline; `what` describes the defect.
[[nodiscard]] spec::Diagnostic defect(const std::string& what);
// Makes the claim of a search that found an order. The search must outlive the claim.
[[nodiscard]] Claim claim_of(const FormSearch& search, const spec::ReadFile& read_file);
// Certifies the claim. `comments` are passed to with_order(). An error describes a defect.
[[nodiscard]] spec::Result<Certified> certified(const Claim& claim,
                                                const std::vector<std::string>& comments);

// The order of a certified claim as a program for all counts of microbatches from some least count
// on. The program is proved for all counts, and has the same order for the claim's count. nullopt
// if no part of some row repeats with one microbatch per turn, or if the program is not proved.
[[nodiscard]] std::optional<std::string> for_every_count(const Claim& claim,
                                                         const std::vector<std::string>& comments);

}  // namespace ripeline::optimise
