// Cost: what each task of a lane takes on average, in the program's unit.
//
// It is the same for all of the lane's microbatches, or an expression over the microbatch. It is
// never part of a verdict or of the hash. Plain values.
#pragma once

#include <optional>

#include "spec/expr.h"

namespace ripeline::spec {

struct Cost {
  Rational each{1, 1};                  // every task's, unless it varies
  std::optional<Expr> expression = {};  // over m alone: everything else is folded

  [[nodiscard]] static Cost by_microbatch(Expr expression);
  [[nodiscard]] bool varies() const { return expression.has_value(); }
  // Errors: those of evaluate(), and cost-negative.
  [[nodiscard]] Result<Rational> of(int microbatch) const;
};

}  // namespace ripeline::spec
