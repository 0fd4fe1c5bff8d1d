// Amounts as users write them: a number with a unit after it, such as 24GB, 1.9GiB or 0.6ms, or
// without a unit, such as 7 or 2.5. Plain values; amount_in() is exact.
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
  spec::Rational base;  // in bytes or nanoseconds; equal to `value` without a unit
};
// nullopt if the text is no amount, has a number that decimal() refuses, or is too large.
[[nodiscard]] std::optional<Amount> amount_in(const std::string& text);

// Parses a text such as 5ms, the clock time of a cost of 1, into nanoseconds; nullopt if the text
// begins with no number. Fails, quoting the text, if it is no time of 1 ns to 1,000 s.
[[nodiscard]] spec::Result<std::optional<std::int64_t>> clock_in(const std::string& text);

// Parses the text as a finite number of 0 or more, in any notation; nullopt if it is not one.
[[nodiscard]] std::optional<double> number_in(const std::string& text);

// Converts costs such as 24ms to numbers in `unit`. If `unit` is not set, it becomes the first unit
// of the costs. Fails, naming `option`, if some costs have a unit of time and others, above 0, have
// none. Changes nothing if no cost has a unit of time, or if a text is not an amount.
[[nodiscard]] spec::Result<void> use_unit(const std::string& option,
                                          std::vector<std::string>& costs,
                                          std::optional<trace::Unit>& unit);

}  // namespace ripeline::simulate
