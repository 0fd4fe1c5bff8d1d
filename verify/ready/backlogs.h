// Backlogs: what is known of every stuck state by looking at a few ranks at a time.
//
// A need has a backlog when its producer is ahead of its consumer. Whether some state is stuck is
// one question about all ranks, for which a solver has to find by itself at which ranks to look:
// for 64 ranks that takes minutes. Where each task waits for ranks that are near, it is enough to
// look at those. So the solver is asked about each need in turn: can its consumer have a backlog
// while nothing may start at its rank and at those of its producers? If not, no stuck state has
// that backlog, and the questions after this one know so.
//
// It is sound since each such question leaves facts out: what has no solution then has none with
// all facts. A backlog that it does not exclude is left to the question about all ranks.
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

#include <cstdint>
#include <vector>

#include "spec/program.h"
#include "verify/ready/counters.h"
#include "verify/ready/linear.h"

namespace ripeline::verify {

// Each is >= 0 where a need has a backlog, which is so in no stuck state that has the invariant.
// The needs are those `same` within one share; each question takes `steps` of a solver, or fewer.
[[nodiscard]] std::vector<Linear> excluded_backlogs(const spec::Program& program,
                                                    const Counters& counters, std::uint64_t steps);

}  // namespace ripeline::verify
