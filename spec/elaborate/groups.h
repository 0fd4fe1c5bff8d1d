// Groups: the members that run a rank together, and the replicas of the whole pipeline.
//
// Adds the groups to work.program and mistakes to work.errors; has no other effect.
#pragma once

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Reads the numbers of members and replicas, and how members agree.
void read_groups(Work& work);
// Checks reductions once lanes exist: reductions wait for replicas, so they need their own engines.
void check_reductions(Work& work);

}  // namespace ripeline::spec::elaboration
