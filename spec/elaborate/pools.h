// Sixth step: makes resources and what lanes acquire and release, and checks that nothing is
// released that was not acquired.
//
// Errors: capacity-not-positive, amount-…, leaving-negative, acquire-never-fits,
// release-not-acquired, too-many-releases.
#pragma once

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Requires lanes. Afterwards Work::first_pool is known.
void make_pools(Work& work);

}  // namespace ripeline::spec::elaboration
