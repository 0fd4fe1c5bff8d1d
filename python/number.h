// Arguments that are numbers within bounds, with the command line's errors.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

#include "load/numbers.h"
#include "python/failure.h"

namespace ripeline::python {

// Throws Failure, which names the option, for a number outside of its bounds. Both bounds are
// allowed, and so is no number.
template <std::integral Number>
void check_integer(const std::string& option, const std::optional<Number>& number,
                   std::int64_t least, std::int64_t most = load::kNoLimit) {
  if (number) (void)value_of(load::integer_in(std::to_string(*number), least, most), option);
}

}  // namespace ripeline::python
