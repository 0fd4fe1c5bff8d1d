// Tells whether the shares of a program's lanes repeat together only after many microbatches.
#pragma once

#include "spec/program.h"

namespace ripeline::spec {

// True if the shares repeat together only after more than Share::kLongestPeriod microbatches.
// This is possible only in programs for one microbatch count, whose shares may have long periods.
// Pure.
[[nodiscard]] bool has_long_period(const Program& program);

}  // namespace ripeline::spec
