// The numbers that options take, read from their texts.
//
// Errors say what was expected, as `expected an integer of 1 or more, and found '0'`, and do not
// name the option. Pure functions.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "spec/diagnostics.h"

namespace ripeline::load {

// The largest value of an option that is an `int`.
inline constexpr std::int64_t kNoLimit = std::numeric_limits<int>::max();

// Both bounds are allowed values. An error mentions kNoLimit only if the number exceeds it.
[[nodiscard]] spec::Result<std::int64_t> integer_in(const std::string& text, std::int64_t least,
                                                    std::int64_t most = kNoLimit);
[[nodiscard]] spec::Result<double> number_above_zero(const std::string& text);
[[nodiscard]] spec::Result<double> number_from_zero(const std::string& text);
// A number of bytes, such as 4700000 or 4.7MB.
[[nodiscard]] spec::Result<double> bytes_from_zero(const std::string& text);
// A rate above 0, such as 2.5e10 or 25GB/s.
[[nodiscard]] spec::Result<double> bytes_per_second(const std::string& text);

}  // namespace ripeline::load
