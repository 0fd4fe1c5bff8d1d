// CounterQueries: the counters of a program as terms of a solver. The solver requires the invariant
// and the range of microbatches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "spec/guards.h"
#include "spec/program.h"
#include "verify/ready/counters.h"
#include "verify/solver/solver.h"

namespace ripeline::verify {

class CounterQueries {
 public:
  // `counters` are those of the program, or have a mistake that a test plants.
  CounterQueries(const spec::Program& program, Counters counters, SolverUse use);
  CounterQueries(const spec::Program& program, SolverUse use);

  // True if the invariant holds before the first task, and every start preserves it.
  [[nodiscard]] bool invariant_is_inductive();
  // The parts of this statement as terms. Evidence asks all of them, even the obvious ones.
  [[nodiscard]] Term at_start();                 // true if no task has ended
  [[nodiscard]] Term invariant_broken();         // true if broken in the present state
  [[nodiscard]] Term broken_by_start(int lane);  // true if some start of the lane breaks it
  // In a solver that writes: the number of required terms before those of the invariant.
  [[nodiscard]] std::size_t required_before_invariant() const { return before_invariant_; }
  [[nodiscard]] bool exact() const { return counters_.inexact.empty(); }
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const spec::Program& program() const { return program_; }
  [[nodiscard]] Term not_negative(const Linear& linear) {
    return solver_.number(0) <= term(linear);
  }

  // True if not all tasks have ended and no lane may start.
  [[nodiscard]] Term stuck();
  // If all of these terms hold, no task of this lane is certain to be able to start.
  [[nodiscard]] std::vector<Term> blocked(int lane);
  // True if some start, in the present state, makes the pool hold more than the bound.
  [[nodiscard]] Term start_above(int pool, Term bound);
  // True if the pool holds more than the bound at some time.
  [[nodiscard]] Term holds_above(int pool, Term bound);

  [[nodiscard]] Solver& solver() { return solver_; }
  [[nodiscard]] Term microbatches() const { return microbatches_; }
  [[nodiscard]] Term total() { return solver_.sum(done_); }
  // The lanes' counts in the model of the last answer that was `sat`.
  [[nodiscard]] std::vector<std::int64_t> counts() const;
  [[nodiscard]] Term differs(const std::vector<std::int64_t>& counts);

 private:
  [[nodiscard]] Term term(const Linear& linear);
  [[nodiscard]] Term total_of(int lane);
  [[nodiscard]] bool may_run_beside(int lane, int other) const;
  [[nodiscard]] std::vector<Term> held_elsewhere(int lane, int pool);
  [[nodiscard]] std::vector<Term> starts_above(int lane, int pool, Term bound);
  void add_quiescence(std::vector<Term>& parts);
  [[nodiscard]] Term may_start(int lane);

  const spec::Program& program_;
  Counters counters_;
  std::vector<spec::Guards> guards_;  // per lane
  Solver solver_;
  Term microbatches_;
  std::vector<Term> done_;     // per lane
  std::vector<Term> arrived_;  // the variables for shared slots
  std::size_t before_invariant_ = 0;
};

}  // namespace ripeline::verify
