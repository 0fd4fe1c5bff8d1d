// Expressions whose number of ranks is open: terms over r, ranks and microbatches, and what is
// provable of them for all values in range.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "spec/expr.h"
#include "verify/solver/solver.h"

namespace ripeline::verify::depth {

// Names to what they stand for; these values have no other names than r, ranks, microbatches.
using Meaning = std::map<std::string, spec::Expr, std::less<>>;

class Algebra {
 public:
  // `least_ranks` <= ranks, 0 <= r < ranks, 1 <= microbatches.
  Algebra(int least_ranks, const SolverUse& use);

  // With every name replaced, what is constant computed, and `%` and `div` by what is no number
  // resolved: a % ranks is a - k * ranks where k is the same for all values in range. What cannot
  // be resolved stays.
  [[nodiscard]] spec::Expr normal(const spec::Expr& expr, const Meaning& meaning);

  // Nothing: it is not linear, or no integer.
  [[nodiscard]] std::optional<Term> term(const spec::Expr& expr);
  // For all values in range; false also when the solver gave up.
  [[nodiscard]] bool always(Term truth);
  [[nodiscard]] bool always_equal(const spec::Expr& a, const spec::Expr& b);
  [[nodiscard]] bool always_at_least(const spec::Expr& a, std::int64_t least);
  // The one value that it always has.
  [[nodiscard]] std::optional<std::int64_t> constant(const spec::Expr& expr);
  // Why term() has none for it.
  [[nodiscard]] std::string problem(const spec::Expr& expr);

  [[nodiscard]] Solver& solver() { return solver_; }

 private:
  [[nodiscard]] spec::Expr resolved(spec::Expr division);

  int least_ranks_;
  Solver solver_;
  Term r_;
  Term ranks_;
  Term microbatches_;
};

}  // namespace ripeline::verify::depth
