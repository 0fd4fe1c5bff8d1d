// Fourth step: makes the stages, their graph and their ranks.
//
// Errors: stages-…, edges-…, duplicate-group, duplicate-edge, place-negative, too-many-…,
// rank-without-stage, ranks-mismatch, chunks-mismatch.
#pragma once

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Requires that all names are known. Afterwards the values of `ranks`, `stages`, `s`, `r`, `chunk`
// and `chunks` are known.
void place_stages(Work& work);

}  // namespace ripeline::spec::elaboration
