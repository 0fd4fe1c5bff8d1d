// Backlogs: the case distinction by which a solver soon sees that no state is stuck.
//
// A need has a backlog when its producer is ahead of its consumer. Of any state, one need is the
// first of a given order that has a backlog, or none has one: so asking about each in turn, with
// those before it known to have none, asks about all states. Each of these questions is small where
// the order goes from what blocks to what is blocked: without the distinction a solver has to find
// such an order itself, and takes minutes for 64 ranks.
//
// The order: needs at one stage first, then those of other stages, and among either those of a lane
// after those of the lanes that it needs.
//
// An example: on a V, `F needs F at prev; B needs F at here, B at next`, with room for some F to B.
// First B behind F at the last stage: it is not blocked. So there is none there, and at the stage
// before it, B behind F has what it needs of the next stage, where nothing is held and F must
// follow, then B. And so on up to the first stage: nowhere is B behind F. Then no room is held, and
// F at stage 1 cannot be behind stage 0, nor stage 2 behind stage 1, and so on.
#pragma once

#include <vector>

#include "spec/program.h"
#include "verify/ready/linear.h"

namespace ripeline::verify {

// Each is >= 0 where the need has a backlog. Of needs `same` within one share.
[[nodiscard]] std::vector<Linear> backlogs(const spec::Program& program);

}  // namespace ripeline::verify
