// Arguments that are numbers, with the limits of the command line's flags and its messages.
#pragma once

#include <cstdint>

namespace ripeline::python {

// The integer; throws Failure if it is not in the range, which includes both ends. `flag` is the
// flag's name, as `--ranks`.
[[nodiscard]] int whole(const char* flag, std::int64_t value, int least, int most);
// The number; throws Failure if it is negative or infinite.
[[nodiscard]] double from_zero(const char* flag, double value);

}  // namespace ripeline::python
