// Part of the fifth step: which ops' tasks run beside each other, and how long both take.
//
// Errors: pair-…, duplicate-pair.
#pragma once

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Needs lanes.
void make_pairs(Work& work);

}  // namespace ripeline::spec::elaboration
