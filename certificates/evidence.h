// Evidence: the facts on which a verdict rests, derived from the program and the claims alone.
//
// Nothing is solved or searched here, and Z3 is not used: the encoder writes down every question,
// with the answer that the claim needs. So anyone with the program can derive the same questions
// again and compare. A claim has a gap if it depends on something that no question can express; a
// certificate does not establish a claim with a gap. Pure; never throws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/program.h"
#include "verify/verify.h"

namespace ripeline::certificates {

// One obligation of a verdict, with those of its parts that others can check.
struct Claim {
  verify::ObligationKind obligation = verify::ObligationKind::deadlock;
  verify::Outcome outcome = verify::Outcome::unknown;
  verify::Method method = verify::Method::none;
  std::vector<int> counts{};  // for method `states`; see Obligation
  // For proved memory: each pool's amount that is never exceeded; nullopt if no bound is claimed.
  std::vector<std::optional<std::int64_t>> peaks{};
  std::vector<bool> by_states{};  // per pool: true if its peak is shown by states, not by `method`
  int microbatches = 0;           // if refuted: the count of the run that refutes the claim
};
[[nodiscard]] std::vector<Claim> claims_of(const spec::Program& program,
                                           const verify::Verdict& verdict);
// The peaks that the claim's method proves; for a pool that `by_states` marks, its capacity.
[[nodiscard]] std::vector<std::optional<std::int64_t>> peaks_by_method(const spec::Program& program,
                                                                       const Claim& claim);

// A question for a solver.
struct Question {
  std::string name;
  std::string smtlib;
  bool satisfiable = false;  // the answer that the claims need
};

// A committed order with one microbatch count: every task, with the tasks that must precede it.
struct GraphEvidence {
  int microbatches = 0;
  std::string text;    // `tasks`, `rank` and `need` lines; see recheck_graph.h
  bool once = false;   // claim: the ranks' orders have each task once
  bool order = false;  // claim: the edges have a topological order
  bool cycle = false;  // claim: the edges have a cycle
  bool run = false;    // claim: a run in this topological order respects the memory claim
};

// A visit of all states with one microbatch count, for method `states` or `members`, or for peaks.
struct Exploration {
  verify::ObligationKind obligation = verify::ObligationKind::deadlock;
  int microbatches = 0;
  int members = 1;                                   // per rank; the program's for method `members`
  std::vector<std::optional<std::int64_t>> peaks{};  // for memory, per pool: never exceeded
};

struct Evidence {
  std::vector<Question> questions;
  std::vector<GraphEvidence> graphs;  // by microbatches
  std::vector<Exploration> explorations;
  std::vector<std::string> invariant;  // a line for each fact, if questions depend on it
  std::string invariant_smtlib;
  std::vector<std::string> gaps;  // sentences
};
[[nodiscard]] Evidence evidence_for(const spec::Program& program, const std::vector<Claim>& claims);

}  // namespace ripeline::certificates
