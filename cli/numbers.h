// Checks of flags that take a number: an error names the flag and says what was expected, as
// `--memory: expected an integer of 1 or more, and found '0'`. CLI11's own checks print the
// largest double there, in 309 digits.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <CLI/App.hpp>

namespace ripeline::cli {

// The integer of 64 bits that the text is; nothing: it is none.
[[nodiscard]] std::optional<std::int64_t> integer_in(const std::string& text);

// The largest value of a flag that is an `int`.
inline constexpr std::int64_t kNoLimit = std::numeric_limits<int>::max();

// Both ends count. With kNoLimit nothing is said of `most`, unless the number is beyond it.
[[nodiscard]] CLI::Validator integer_from(std::int64_t least, std::int64_t most = kNoLimit);
[[nodiscard]] CLI::Validator number_above_zero();
[[nodiscard]] CLI::Validator number_from_zero();

}  // namespace ripeline::cli
