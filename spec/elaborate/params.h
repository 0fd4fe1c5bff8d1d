// Second step: the values of params, with -D, and the range of microbatches.
//
// What names something unknown is passed over: the third step says so. Errors:
// param-reserved-name, define-…, microbatches-….
#pragma once

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Needs collect().
void evaluate_params(Work& work);

}  // namespace ripeline::spec::elaboration
