// Makes a hint's places, rule and settings.
//
// A place that lists an op at one chunk knows which chunk this is on each rank. Errors: hint-…, and
// those of expressions.
#pragma once

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Requires lanes and orders.
[[nodiscard]] Hint made_hint(Work& work, const ast::Hint& written);

}  // namespace ripeline::spec::elaboration
