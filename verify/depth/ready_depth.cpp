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

}  // namespace

std::vector<Term> ReadyDepth::facts(DepthTerms& terms, Term rank) const {
  std::vector<Term> found = terms.facts(rank);
  if (more_) append(found, more_(terms, rank));
  return found;
}

// The facts at a rank, at its neighbours, and at the first and the last rank.
std::vector<Term> ReadyDepth::facts_around(DepthTerms& terms, Term rank) const {
  const Term one = terms.solver().number(1);
  std::vector<Term> found;
  for (const Term r : {rank, rank - one, rank + one}) append(found, facts(terms, r));
  append(found, facts(terms, terms.solver().number(0)));
  append(found, facts(terms, terms.ranks() - one));
  return found;
}

Term ReadyDepth::broken(DepthTerms& terms, Term rank) const {
  return !terms.solver().all_of(facts(terms, rank));
}

ReadyDepth::ReadyDepth(const Shape& shape, const SolverUse& use, MoreFacts more)
    : shape_(shape), use_(use), more_(std::move(more)) {
  problem_ = inexact_reason(shape);
  if (!problem_) problem_ = not_inductive();
}

// Checks that the invariant holds before the first task and that a start of any lane at one rank
// preserves the facts at any rank.
std::optional<std::string> ReadyDepth::not_inductive() {
  DepthTerms terms(shape_, use_);
  Solver& solver = terms.solver();
  const Term rank = solver.integer("rank");
  terms.set_counts([&](const Family&, Term) { return solver.number(0); });
  if (solver.check("depth: invariant at the start", {broken(terms, rank)}) != Answer::unsat) {
    return "The invariant could not be shown to hold at the start, for every number of ranks.";
  }
  for (const Family& lane : terms.families()) {
    if (auto problem = not_kept_by(lane)) return problem;
  }
  return std::nullopt;
}

std::optional<std::string> ReadyDepth::not_kept_by(const Family& lane) {
  DepthTerms terms(shape_, use_);
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
  if (solver.check("depth: invariant kept by " + name, question) == Answer::unsat)
    return std::nullopt;
  return fmt::format(
      "The invariant could not be shown to be kept by {}, for every number of ranks.", name);
}

Finding ReadyDepth::deadlock() {
  if (problem_) return {.method = Method::depth, .reason = *problem_};
  for (const bool more : {false, true}) {
    DepthTerms terms(shape_, use_);
    Solver& solver = terms.solver();
    const Term left = solver.integer("left");
    ExtremalStages stages(terms, more);
    stages.look_at(left);
    add_backlogs(terms, stages, more);
    std::vector<Term> question = stages.lemmas();
    std::vector<Term> unfinished;
    const std::vector<Family> asked = terms.families();
    for (const Family& lane : asked) {
      unfinished.push_back(solver.all_of(
          {terms.exists(lane, left), terms.count(lane, left) < terms.microbatches()}));
    }
    question.push_back(solver.any_of(unfinished));
    for (const Term rank : stages.ranks()) {
      append(question, facts(terms, rank));
      for (const Family& lane : asked) question.push_back(terms.blocked(lane, rank));
    }
    for (const Term t : question) solver.require(t);
    if (solver.check("depth: a stuck state") == Answer::unsat) {
      return {.outcome = Outcome::proved, .method = Method::depth};
    }
  }
  return not_excluded("A state in which no task may start");
}

MemoryFinding ReadyDepth::memory() {
  if (problem_) return {{.method = Method::depth, .reason = *problem_}};
  // The guards keep the amounts within the capacities, so only assertions are asked about.
  DepthTerms terms(shape_, use_);
  Solver& solver = terms.solver();
  const Term rank = solver.integer("rank");
  std::vector<Start> starts;
  for (const Family& lane : terms.families()) {
    starts.push_back(
        {lane, solver.all_of({terms.exists(lane, rank), terms.may_start(lane, rank)})});
  }
  return {keeps_assertions(terms, rank, facts_around(terms, rank), starts)};
}

}  // namespace ripeline::verify::depth
