// Groups: the members that play a rank together, and the replicas of the whole pipeline.
//
// Adds to work.program; every mistake to work.errors. Pure otherwise.
#pragma once

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// How many there are, and how members agree.
void read_groups(Work& work);
// Checks reductions, once there are lanes: waiting for replicas, they need engines of their own.
void check_reductions(Work& work);

}  // namespace ripeline::spec::elaboration
