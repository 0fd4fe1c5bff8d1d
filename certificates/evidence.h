// Evidence: what a verdict rests on, derived from the program and the verdict's claims alone.
//
// Nothing is solved or searched here, and Z3 is not used: the encoder writes down every question,
// with the answer that the claim needs. So whoever has the program can derive the same questions
// again and compare. What a claim rests on and no question can carry is a gap; a claim with a gap
// is not established by a certificate. Pure; never throws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/program.h"
#include "verify/verify.h"

namespace ripeline::verify {

// One line of a verdict, as far as others can check it.
struct Claim {
  ObligationKind obligation = ObligationKind::deadlock;
  Outcome outcome = Outcome::unknown;
  Method method = Method::none;
  std::vector<int> counts{};  // for method states, see Obligation
  // Per pool, of memory proved: never exceeded. Nothing: no bound is claimed.
  std::vector<std::optional<std::int64_t>> peaks{};
  std::vector<bool> by_states{};  // per pool: states show its peak, and not the method
  int microbatches = 0;           // if refuted: its run's
};
[[nodiscard]] std::vector<Claim> claims_of(const spec::Program& program, const Verdict& verdict);
// The peaks that the claim's method shows: capacities in place of those that states show.
[[nodiscard]] std::vector<std::optional<std::int64_t>> peaks_by_method(const spec::Program& program,
                                                                       const Claim& claim);

// To be asked of a solver.
struct Question {
  std::string name;
  std::string smtlib;
  bool satisfiable = false;  // the answer that the claims need
};

// A committed order with one microbatch count: every task and what comes strictly before it.
struct GraphEvidence {
  int microbatches = 0;
  std::string text;    // `tasks`, `rank` and `need` lines; see recheck_graph.h
  bool once = false;   // claimed: the ranks' orders have each task once
  bool order = false;  // claimed: its edges have a topological order
  bool cycle = false;  // claimed: they have a cycle
  bool run = false;    // claimed: a run in that order keeps to what memory claims
};

// All states of one microbatch count, for a claim of method `states` or `members`, or for peaks.
struct Exploration {
  ObligationKind obligation = ObligationKind::deadlock;
  int microbatches = 0;
  int members = 1;                                   // per rank; for method `members` the program's
  std::vector<std::optional<std::int64_t>> peaks{};  // per pool, of memory: never exceeded
};

struct Evidence {
  std::vector<Question> questions;
  std::vector<GraphEvidence> graphs;  // by microbatches
  std::vector<Exploration> explorations;
  std::vector<std::string> invariant;  // a line for each fact, if the questions rest on one
  std::string invariant_smtlib;
  std::vector<std::string> gaps;  // sentences
};
[[nodiscard]] Evidence evidence_for(const spec::Program& program, const std::vector<Claim>& claims);

}  // namespace ripeline::verify
