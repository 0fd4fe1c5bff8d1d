// Third step: checks that every name is known where it is used.
//
// Values do not matter yet, so one run finds all unknown names. Errors: …-unknown-…, duplicate-let,
// duplicate-stream, order-chunk-of-stream.
#pragma once

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Requires collect(), and evaluate_params() to know whether `microbatches` is one count. Only adds
// errors.
void check_names(Work& work);

}  // namespace ripeline::spec::elaboration
