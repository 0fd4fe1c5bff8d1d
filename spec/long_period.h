// Tells whether the shares of a program's lanes only repeat together after many microbatches.
#pragma once

#include "spec/program.h"

namespace ripeline::spec {

// True if they repeat together only after more than Share::kLongestPeriod microbatches, as they
// may in a program for one count: a share has a long period, or the least common period is long.
// Pure.
[[nodiscard]] bool has_long_period(const Program& program);

}  // namespace ripeline::spec
