// Checks of flags that take a number (load/numbers.h). An error names the flag and says what was
// expected, as `--memory: expected an integer of 1 or more, and found '0'`. CLI11's own checks
// would print the largest double as the upper limit, in 309 digits.
#pragma once

#include <cstdint>

#include <CLI/App.hpp>

#include "load/numbers.h"

namespace ripeline::cli {

// Both bounds are allowed values.
[[nodiscard]] CLI::Validator integer_from(std::int64_t least, std::int64_t most = load::kNoLimit);
[[nodiscard]] CLI::Validator number_above_zero();
[[nodiscard]] CLI::Validator number_from_zero();

}  // namespace ripeline::cli
