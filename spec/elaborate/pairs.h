// Part of the fifth step: which ops may run beside each other, and how long both then take.
//
// Errors: pair-…, duplicate-pair.
#pragma once

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Requires lanes.
void make_pairs(Work& work);

}  // namespace ripeline::spec::elaboration
