// Translates an expression of the language to a solver's term, if it is linear.
//
// Names are either constants, which are folded first, or terms. A failure is described by a
// sentence that names the part that is not linear.
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
  std::string problem;  // the reason if there is no term
};

// The term of an expression with integer values: a fraction that is not rounded is a problem.
[[nodiscard]] IntegerTerm integer_term(Solver& solver, const spec::Expr& expr, const Names& names);

// The expression with its constants folded.
[[nodiscard]] spec::Expr folded(const spec::Expr& expr, const Names& names);

}  // namespace ripeline::verify
