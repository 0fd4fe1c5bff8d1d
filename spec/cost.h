// Cost: the average duration of each task of a lane, in the program's unit.
//
// All microbatches of the lane have the same cost, or the cost is an expression over the
// microbatch. A cost is never part of a verdict or of the hash. Plain values.
#pragma once

#include <optional>

#include "spec/expr.h"

namespace ripeline::spec {

struct Cost {
  Rational each{1, 1};                  // the cost of every task, unless it varies
  std::optional<Expr> expression = {};  // over m alone, since other names are folded

  [[nodiscard]] static Cost by_microbatch(Expr expression);
  [[nodiscard]] bool varies() const { return expression.has_value(); }
  // The cost of the microbatch's task. Errors: those of evaluate(), and cost-negative.
  [[nodiscard]] Result<Rational> of(int microbatch) const;
};

}  // namespace ripeline::spec
