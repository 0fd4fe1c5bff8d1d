// First step: the items of a pipeline by kind, what is declared twice and what is missing.
//
// --dispatch is read here and takes the place of what is written. Of a name declared twice the
// first counts, so that the later steps can go on. Errors: duplicate-…, missing-…, dispatch-option.
#pragma once

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Needs nothing; fills the lists of Work that hold what was written.
void collect(Work& work);

}  // namespace ripeline::spec::elaboration
