// Microseconds as the JSON of a trace has them, with any number of decimals, in whole nanoseconds.
//
// Times since 1970 have more digits than a double, so the text counts and not the number.
#pragma once

#include <cstdint>
#include <string>

namespace ripeline::trace {

// Beyond this, a number in a trace is no time.
inline constexpr std::int64_t kMostMicroseconds = 9'000'000'000'000'000;

// `value` is what `text` says; it counts where the text has an exponent. What is less than a
// nanosecond is cut off.
[[nodiscard]] std::int64_t nanoseconds_of(const std::string& text, double value);

}  // namespace ripeline::trace
