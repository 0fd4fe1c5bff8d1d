// Counters: a readiness-first program as one integer per lane, for every microbatch count at once.
//
// The state is how many tasks of each lane have ended, and the number of microbatches; tasks run
// atomically. That is enough: executed in the order of their starts, each ending before the next
// starts and each message arriving at once, the tasks of any run reach the same quiescent states,
// since ends and arrivals only ever enable, and a rank runs one task at a time. Held amounts just
// after a start are the same too.
//
// What counts alone can say of `may start` is exact when, for each lane, the sets of microbatches
// that its producers have ended are nested: then the smallest count decides. Sets are nested when
// one producer is an ancestor of the other, or when both are prefixes, which a sequential lane's
// are. A sequential consumer needs prefixes. Otherwise `may` is what must at least hold and `must`
// is what suffices, and only proofs are sound, not the search for states.
#pragma once

#include <string>
#include <vector>

#include "verify/internal.h"
#include "verify/solver.h"

namespace ripeline::verify {

struct Counters {
  std::vector<std::vector<Linear>> may;   // per lane: it may start only if all are >= 0
  std::vector<std::vector<Linear>> must;  // per lane: it may start if all are >= 0
  std::vector<Linear> held;               // per pool
  std::vector<Linear> invariant;          // all >= 0 in every reachable state
  std::vector<int> inexact;               // lanes for which `may` and `must` differ
};

[[nodiscard]] Counters count(const spec::Program& program, Fault fault);

// The counters as terms of a solver, with the invariant and the range required.
class CounterQueries {
 public:
  CounterQueries(const spec::Program& program, Counters counters, std::uint64_t steps, Fault fault);

  // The invariant holds before the first task, and every task that starts keeps it.
  [[nodiscard]] bool invariant_is_inductive();
  [[nodiscard]] bool exact() const { return counters_.inexact.empty(); }
  [[nodiscard]] const Counters& counters() const { return counters_; }

  // Not all has ended and no lane may start.
  [[nodiscard]] Term stuck();
  // A start, now, after which the pool holds more than the bound.
  [[nodiscard]] Term start_above(int pool, Term bound);
  // The pool holds more than the bound, at any time.
  [[nodiscard]] Term holds_above(int pool, Term bound);

  [[nodiscard]] Solver& solver() { return solver_; }
  [[nodiscard]] Term microbatches() const { return microbatches_; }
  [[nodiscard]] Term total() { return solver_.sum(done_); }
  // Of the last answer `sat`.
  [[nodiscard]] std::vector<std::int64_t> counts() const;
  [[nodiscard]] Term differs(const std::vector<std::int64_t>& counts);

 private:
  [[nodiscard]] Term term(const Linear& linear);
  [[nodiscard]] Term may_start(int lane);

  const spec::Program& program_;
  Counters counters_;
  Fault fault_;
  Solver solver_;
  Term microbatches_;
  std::vector<Term> done_;
};

// The least value of `objective` that the extra terms allow; they are known to allow one. The
// solver's last model attains it. Nothing: the solver did not answer.
[[nodiscard]] std::optional<std::int64_t> least(Solver& solver, const std::string& query,
                                                Term objective, std::int64_t lower_bound,
                                                std::vector<Term> extra);

// A small value of `objective`, found with few steps; the solver's last model attains it. Nothing:
// the extra terms allow none, or the solver did not answer.
[[nodiscard]] std::optional<std::int64_t> small(Solver& solver, const std::string& query,
                                                Term objective, std::vector<Term> extra);

}  // namespace ripeline::verify
