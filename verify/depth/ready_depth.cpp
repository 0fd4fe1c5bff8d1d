// Readiness-first dispatch for every number of ranks.
#include "verify/depth/ready_depth.h"

#include <fmt/format.h>

#include "verify/depth/assertions.h"
#include "verify/depth/exact.h"
#include "verify/depth/lemmas.h"

namespace ripeline::verify::depth {
namespace {

void append(std::vector<Term>& to, const std::vector<Term>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Facts about all lanes of a rank and those beside it.
std::vector<Term> facts_around(DepthTerms& terms, Term rank) {
  const Term one = terms.solver().number(1);
  std::vector<Term> found;
  for (const Term r : {rank, rank - one, rank + one}) append(found, terms.facts(r));
  append(found, terms.facts(terms.solver().number(0)));
  append(found, terms.facts(terms.ranks() - one));
  return found;
}

Term broken(DepthTerms& terms, Term rank) { return !terms.solver().all_of(terms.facts(rank)); }

}  // namespace

ReadyDepth::ReadyDepth(const Shape& shape, const SolverUse& use, Fault fault)
    : shape_(shape), use_(use), fault_(fault) {
  problem_ = inexact_reason(shape);
  if (problem_.empty()) problem_ = not_inductive();
}

// Before the first task, and by every start: of one lane at one rank, asked of the facts at any
// other rank.
std::string ReadyDepth::not_inductive() {
  DepthTerms terms(shape_, use_, fault_);
  Solver& solver = terms.solver();
  const Term rank = solver.integer("rank");
  terms.set_counts([&](const Family&, Term) { return solver.number(0); });
  if (solver.check("depth: invariant at the start", {broken(terms, rank)}) != Answer::unsat) {
    return "The invariant could not be shown to hold at the start, for every number of ranks.";
  }
  for (const Family& lane : terms.families()) {
    if (std::string problem = not_kept_by(lane); !problem.empty()) return problem;
  }
  return {};
}

std::string ReadyDepth::not_kept_by(const Family& lane) {
  DepthTerms terms(shape_, use_, fault_);
  Solver& solver = terms.solver();
  const Term rank = solver.integer("rank");
  const Term start = solver.integer("start");
  std::vector<Term> question = facts_around(terms, rank);
  append(question, facts_around(terms, start));
  question.push_back(terms.exists(lane, start));
  question.push_back(terms.may_start(lane, start));
  terms.set_counts([&](const Family& other, Term r) {
    const Term before = terms.unknown_count(other, r);
    if (!(other == lane)) return before;
    return before + if_then_else(r == start, solver.number(1), solver.number(0));
  });
  question.push_back(broken(terms, rank));
  const std::string name = terms.name_of(lane);
  if (solver.check("depth: invariant kept by " + name, question) == Answer::unsat) return {};
  return fmt::format(
      "The invariant could not be shown to be kept by {}, for every number of ranks.", name);
}

Finding ReadyDepth::deadlock() {
  if (!problem_.empty()) return {.method = "depth", .reason = problem_};
  for (const bool more : {false, true}) {
    DepthTerms terms(shape_, use_, fault_);
    Solver& solver = terms.solver();
    const Term left = solver.integer("left");
    ExtremalStages stages(terms, more);
    stages.look_at(left);
    add_backlogs(terms, stages, more);
    std::vector<Term> question = stages.lemmas();
    std::vector<Term> unfinished;
    std::vector<Family> asked = terms.families();
    for (const Family& lane : asked) {
      unfinished.push_back(solver.all_of(
          {terms.exists(lane, left), terms.count(lane, left) < terms.microbatches()}));
    }
    question.push_back(solver.any_of(unfinished));
    if (fault_ == Fault::one_lane_forgotten) asked.pop_back();
    for (const Term rank : stages.ranks()) {
      append(question, terms.facts(rank));
      for (const Family& lane : asked) question.push_back(terms.blocked(lane, rank));
    }
    for (const Term t : question) solver.require(t);
    if (solver.check("depth: a stuck state") == Answer::unsat) {
      return {.outcome = Outcome::proved, .method = "depth"};
    }
  }
  return not_excluded("A state in which no task may start");
}

MemoryFinding ReadyDepth::memory() {
  if (!problem_.empty()) return {{.method = "depth", .reason = problem_}};
  // The guards keep to the capacities.
  DepthTerms terms(shape_, use_, fault_);
  Solver& solver = terms.solver();
  const Term rank = solver.integer("rank");
  std::vector<Start> starts;
  for (const Family& lane : terms.families()) {
    starts.push_back(
        {lane, solver.all_of({terms.exists(lane, rank), terms.may_start(lane, rank)})});
  }
  return {keeps_assertions(terms, rank, facts_around(terms, rank), starts, fault_)};
}

}  // namespace ripeline::verify::depth
