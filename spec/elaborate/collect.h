// First step: sorts a pipeline's items by kind, and finds items declared twice or missing.
//
// --dispatch is read here and replaces the written dispatch. If a name is declared twice, the first
// one counts, so that later steps can continue. Errors: duplicate-…, missing-…, dispatch-option.
#pragma once

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Requires no earlier step. Fills the lists in `work` that have the pipeline's items as written.
void collect(Work& work);

}  // namespace ripeline::spec::elaboration
