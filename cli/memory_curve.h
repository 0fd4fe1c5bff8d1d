// `ripeline optimise --memory A..B`: the best time for each memory, beside the library's schedules.
#pragma once

#include <string>

#include "cli/optimised.h"
#include "cli/picture_flags.h"

namespace ripeline::cli {

// Whether the flag names a range: memories in steps of what a microbatch holds in all of a rank's
// layers. An order that fits less fits more, so no time is above that of a smaller memory.
[[nodiscard]] bool is_memory_range(const std::string& memory);

// Each memory is searched for so many seconds, on each form that the flags ask for, and what is
// found is certified. run_memory_curve() returns the exit code.
struct CurveLimits {
  double seconds = 10;
  int solver_threads = 0;
};
int run_memory_curve(const OptimisedFlags& flags, const CurveLimits& limits,
                     const PictureFlags& picture, bool json);

}  // namespace ripeline::cli
