// Backlogs: facts about every stuck state that are found by looking at a few ranks at a time.
//
// A need has a backlog when its producer is ahead of its consumer. Whether some state is stuck is
// one question about all ranks, in which a solver must find by itself the ranks that matter: for 64
// ranks that takes minutes. If each task waits for ranks nearby, it is enough to look at those. So
// the solver is asked about each need in turn: can its consumer have a backlog while nothing may
// start at its own rank and at its producers' ranks? If not, no stuck state has that backlog, and
// later questions use this as a fact.
//
// This is sound since such a question only leaves facts out: if it has no solution, it has none
// with all facts. A backlog that is not excluded is left to the question about all ranks.
//
// The order: needs at one stage come first, then needs of other stages; among either, a lane's
// needs come after those of the lanes that it needs.
//
// An example: on a V, `F needs F at prev; B needs F at here, B at next`, with room for some F to B.
// First ask about B behind F at the last stage: B is not blocked, so no stuck state has it. Then at
// the stage before it, if B is behind F, B has what it needs of the next stage, where nothing is
// held and F must follow, then B. And so on up to the first stage: nowhere is B behind F. So no
// room is held, and F at stage 1 cannot be behind stage 0, nor stage 2 behind stage 1, and so on.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/program.h"
#include "verify/ready/counters.h"
#include "verify/ready/linear.h"

namespace ripeline::verify {

// Each expression is >= 0 if a need has a backlog, which no stuck state with the invariant has. The
// needs are those `same` within one share; each question takes at most `steps` of the solver.
[[nodiscard]] std::vector<Linear> excluded_backlogs(const spec::Program& program,
                                                    const Counters& counters, std::uint64_t steps);

}  // namespace ripeline::verify
