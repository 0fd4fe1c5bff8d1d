// A hint's places, rule and settings.
//
// What lists an op at one chunk knows which one it is on each rank. Errors: hint-…, and those of
// expressions.
#pragma once

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Needs lanes and orders.
[[nodiscard]] Hint made_hint(Work& work, const ast::Hint& written);

}  // namespace ripeline::spec::elaboration
