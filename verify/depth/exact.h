// Whether counts decide which tasks may start, by the rule of verify/ready/counters.h, for every
// stage at once.
#pragma once

#include <optional>
#include <string>

#include "verify/depth/shape.h"

namespace ripeline::verify::depth {

// Why counts of ended tasks do not decide which tasks may start (verify/ready/counters.h); nullopt
// if they do.
[[nodiscard]] std::optional<std::string> inexact_reason(const Shape& shape);

}  // namespace ripeline::verify::depth
