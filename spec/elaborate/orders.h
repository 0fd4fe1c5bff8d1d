// Last steps: orders, hints with the dispatch, and assertions.
//
// An order's counts and an assertion's bounds are tried for the fewest microbatch counts of the
// range. Errors: order-… (also those of expand()), hint-…, dispatch-…, keeping-….
#pragma once

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Needs lanes. Those from a file stay empty until read_orders().
void make_orders(Work& work);
// Needs orders. Also what the dispatch names: an order, a hint, an order for which room is kept.
void make_hints(Work& work);
// Needs resources: `assert peak`.
void make_assertions(Work& work);

}  // namespace ripeline::spec::elaboration
