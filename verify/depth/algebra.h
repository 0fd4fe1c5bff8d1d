// Expressions for any number of ranks, as terms over r, ranks and microbatches. Also decides
// whether a statement about such terms holds for all values in range.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "spec/expr.h"
#include "verify/solver/solver.h"

namespace ripeline::verify::depth {

// Maps a name to its expression; the expressions use no other names than r, ranks, microbatches.
using Meaning = std::map<std::string, spec::Expr, std::less<>>;

class Algebra {
 public:
  // The range: `least_ranks` <= ranks, 0 <= r < ranks, 1 <= microbatches.
  Algebra(int least_ranks, const SolverUse& use);

  // The expression with names replaced, constants computed, and each `%` or `div` by an expression
  // resolved: a % ranks becomes a - k * ranks if one k fits all values in range. A division that
  // cannot be resolved is left unchanged.
  [[nodiscard]] spec::Expr normal(const spec::Expr& expr, const Meaning& meaning);

  // The expression as a term; nullopt if it is not linear or not an integer.
  [[nodiscard]] std::optional<Term> term(const spec::Expr& expr);
  // True if the statement holds for all values in range; false also if the solver gives up.
  [[nodiscard]] bool always(Term truth);
  [[nodiscard]] bool always_equal(const spec::Expr& a, const spec::Expr& b);
  [[nodiscard]] bool always_at_least(const spec::Expr& a, std::int64_t least);
  // The expression's value, if it is the same for all values of names in range.
  [[nodiscard]] std::optional<std::int64_t> constant(const spec::Expr& expr);
  // Why term() returns nullopt for this expression.
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
