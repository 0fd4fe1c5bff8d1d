// A search of every state of spec/machine.h, event by event.
//
// For programs in which tasks of one rank run side by side, on several engines or as a pair: then
// pools may hold more than when tasks run one at a time, which Search::explore() misses.
#pragma once

#include "spec/machine.h"
#include "verify/states/budget.h"
#include "verify/states/explorer.h"
#include "verify/states/goal.h"

namespace ripeline::verify {

// Searches breadth first for a start that breaks a bound, or for a stuck state.
[[nodiscard]] Explored<spec::Event> interleave(const spec::Machine& machine,
                                               spec::Machine::Chooser chooser, const Goal& goal,
                                               Budget& budget);

}  // namespace ripeline::verify
