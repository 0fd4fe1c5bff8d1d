// Fifth step: makes ops, lanes and edges, and checks that the needs have no cycle.
//
// Errors: need-…, needs-cycle, link-…, channel-capacity, via-unknown-link, collectives-…,
// op-unknown-engine, no-tasks, too-many-lanes, tensor-parallel-members, rendezvous-without-order,
// and those of costs.h, share.h and pairs.h, which are parts of this step.
#pragma once

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Requires place_stages().
void make_lanes(Work& work);

}  // namespace ripeline::spec::elaboration
