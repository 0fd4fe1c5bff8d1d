// Groups: the members that play a rank together, and the replicas of the whole pipeline.
//
// Adds to work.program, and every mistake to work.errors; no other effect.
#pragma once

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Reads the numbers of members and replicas, and how members agree.
void read_groups(Work& work);
// Checks reductions, after the lanes exist: as they wait for replicas, they need their own engines.
void check_reductions(Work& work);

}  // namespace ripeline::spec::elaboration
