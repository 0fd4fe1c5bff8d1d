// Where the values of an expression lie, when its names lie in ranges.
//
// What a running rank computes must have a value and fit in 64 bits, whatever its names are then.
// This says so before: of each part, which values it may have at most, as far as the parts tell
// (names that depend on each other are taken as independent). Pure functions.
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

// The range of an integer expression: divisions are `div`, `%`, or stand in floor() or ceil().
// Every name is known to `lookup`. A branch that cannot be taken may be anything. Errors:
// range-overflow, range-division-by-zero, range-not-integer.
[[nodiscard]] Result<Range> range_of(
    const Expr& expr, const std::function<std::optional<Range>(std::string_view)>& lookup);

}  // namespace ripeline::spec
