// Groups: the members that play a rank together, and the replicas of the whole pipeline.
//
// Adds to work.program, and every mistake to work.errors; no other effect.
#pragma once

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Reads the numbers of members and replicas, and how members agree.
void read_groups(Work& work);
// Checks reductions, once lanes exist: they need engines of their own, as they wait for replicas.
void check_reductions(Work& work);

}  // namespace ripeline::spec::elaboration
