// Checks of flags that take a number. An error names the flag and says what was expected, as
// `--memory: expected an integer of 1 or more, and found '0'`. CLI11's own checks would print the
// largest double as the upper limit, in 309 digits.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include <CLI/App.hpp>

namespace ripeline::cli {

// The largest value of a flag that is an `int`.
inline constexpr std::int64_t kNoLimit = std::numeric_limits<int>::max();

// Both bounds are allowed values. An error mentions kNoLimit only if the number exceeds it.
[[nodiscard]] CLI::Validator integer_from(std::int64_t least, std::int64_t most = kNoLimit);
[[nodiscard]] CLI::Validator number_above_zero();
[[nodiscard]] CLI::Validator number_from_zero();

// Validators of flags for bytes, or for bytes in a second: 4.7MB, 25GB/s, 2.5e10. They rewrite the
// text, so that CLI11 reads a number of bytes.
[[nodiscard]] CLI::Validator bytes_from_zero();
[[nodiscard]] CLI::Validator bytes_per_second();

}  // namespace ripeline::cli
