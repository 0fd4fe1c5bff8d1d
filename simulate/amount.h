// Amounts as they are written: a number with a unit behind it, as 24GB, 1.9GiB or 0.6ms, or without
// one, as 7 or 2.5. Plain values; amount_in() is exact.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/diagnostics.h"
#include "spec/expr.h"
#include "trace/about.h"

namespace ripeline::simulate {

enum class Dimension : std::uint8_t { none, bytes, time };

struct Amount {
  spec::Rational value;  // in the unit
  std::string unit;      // bytes (core/vocabulary/byte_unit.h) or time: ns, us, ms, s
  Dimension dimension = Dimension::none;
  spec::Rational base;  // in bytes or nanoseconds; without a unit, the value
};
// Nothing: it is no such text, with a number as decimal() takes it, or is too large.
[[nodiscard]] std::optional<Amount> amount_in(const std::string& text);

// Makes numbers in the run's unit of what is given as costs, as 24ms or 24. All have a unit of time
// or none has, but for those that are 0; without `unit`, theirs becomes it. Texts that are no
// amounts stay as they are. Errors name the option that gave them.
[[nodiscard]] spec::Result<void> use_unit(const std::string& option,
                                          std::vector<std::string>& costs,
                                          std::optional<trace::Unit>& unit);

}  // namespace ripeline::simulate
