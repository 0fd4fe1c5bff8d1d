// The range of an expression's values, for given ranges of its names.
//
// An expression that a running rank computes must have a value and fit in 64 bits for all values of
// its names. This is checked here beforehand, by bounding the values of each part of the expression
// (names that depend on each other are treated as independent). Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "spec/expr.h"

namespace ripeline::spec {

struct Range {
  std::int64_t least = 0;
  std::int64_t most = 0;
  bool operator==(const Range&) const = default;
};

// The range of an integer expression, whose divisions are `div`, `%` or inside floor() or ceil().
// `lookup` knows every name. A branch that cannot be taken is not checked. Errors: range-overflow,
// range-division-by-zero, range-not-integer.
[[nodiscard]] Result<Range> range_of(
    const Expr& expr, const std::function<std::optional<Range>(std::string_view)>& lookup);

}  // namespace ripeline::spec
