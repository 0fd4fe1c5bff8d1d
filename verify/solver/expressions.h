// An expression of the language as a solver's term, when it is linear.
//
// Names are either constants, which are folded first, or terms. Failure is a sentence that says
// what is not linear.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "spec/expr.h"
#include "verify/solver/solver.h"

namespace ripeline::verify {

struct Names {
  std::map<std::string, spec::Rational, std::less<>> constants;
  std::map<std::string, Term, std::less<>> terms;
};

struct IntegerTerm {
  std::optional<Term> term;
  std::string problem;  // why there is no term
};

// Integers only: a fraction that is not rounded is a problem.
[[nodiscard]] IntegerTerm integer_term(Solver& solver, const spec::Expr& expr, const Names& names);

// Folds the constants into it.
[[nodiscard]] spec::Expr folded(const spec::Expr& expr, const Names& names);

}  // namespace ripeline::verify
