// Whether the shares of a program's lanes repeat together only after many microbatches.
#pragma once

#include "spec/program.h"

namespace ripeline::spec {

// Together they repeat only after more than Share::kLongestPeriod microbatches, as they may in a
// program for one count: some have words, or their periods have no common one that is as short.
// Pure.
[[nodiscard]] bool has_long_period(const Program& program);

}  // namespace ripeline::spec
