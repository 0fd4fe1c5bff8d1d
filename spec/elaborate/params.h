// Second step: finds the values of params, those of -D included, and the range of microbatches.
//
// An expression with an unknown name is skipped, since the third step reports it. Errors:
// param-reserved-name, define-…, microbatches-….
#pragma once

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Requires collect().
void evaluate_params(Work& work);

}  // namespace ripeline::spec::elaboration
