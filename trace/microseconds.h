// Converts microseconds of a trace's JSON, with any number of decimals, to whole nanoseconds.
//
// Times since 1970 have more digits than a double holds, so the text is read, not the number.
#pragma once

#include <cstdint>
#include <string>

namespace ripeline::trace {

// The largest number of microseconds that counts as a time in a trace.
inline constexpr std::int64_t kMostMicroseconds = 9'000'000'000'000'000;

// `value` is the number in `text`; it is used only if the text has an exponent. Fractions of a
// nanosecond are dropped.
[[nodiscard]] std::int64_t nanoseconds_of(const std::string& text, double value);

}  // namespace ripeline::trace
