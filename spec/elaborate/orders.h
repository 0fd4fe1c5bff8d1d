// Last steps: make orders, hints with the dispatch, and assertions.
//
// The counts of orders and the bounds of assertions are tried for the smallest microbatch counts of
// the range. Errors: order-… (also those of expand()), hint-…, dispatch-…, keeping-….
#pragma once

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Requires lanes. Orders from files stay empty until read_orders().
void make_orders(Work& work);
// Requires orders. Makes the dispatch, too: its order, its hint and the order it keeps room for.
void make_hints(Work& work);
// Requires resources; makes `assert peak`.
void make_assertions(Work& work);

}  // namespace ripeline::spec::elaboration
