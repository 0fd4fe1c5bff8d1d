// Third step: every name stands for something where it stands.
//
// Values do not matter yet, so all unknown names are found in one run. Errors: …-unknown-…,
// duplicate-let, duplicate-stream, order-chunk-of-stream.
#pragma once

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Needs collect(), and evaluate_params() to know whether `microbatches` is one count. Changes
// nothing but the errors.
void check_names(Work& work);

}  // namespace ripeline::spec::elaboration
