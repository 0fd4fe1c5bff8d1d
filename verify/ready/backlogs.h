// Backlogs: facts about every stuck state, each found from a few ranks at a time.
//
// A need has a backlog when its producer is ahead of its consumer. Whether some state is stuck is
// one question about all ranks. A solver must find by itself which ranks matter, and needs minutes
// for 64 ranks. If each task waits only for ranks nearby, those ranks suffice. So the solver is
// asked about each need in turn: can its consumer have a backlog while nothing may start at the
// consumer's rank and its producers' ranks? If not, no stuck state has that backlog, and later
// questions use this as a fact.
//
// This is sound, since such a question only leaves facts out: if it has no solution, then neither
// has the question with all facts. The question about all ranks decides on other backlogs.
//
// The order of questions: first needs within a stage, then needs of other stages; within either
// group, a lane's needs follow those of the lanes that it needs.
//
// An example: on a V, `F needs F at prev; B needs F at here, B at next`, where room is held from F
// to B. At the last stage, a B behind its F is not blocked, so no stuck state has this backlog. If
// B is behind F at the stage before, the next stage holds nothing, so its F and then its B must
// have run, and B has its input. And so on up to the first stage: nowhere is B behind F. So no room
// is held, and F at stage 1 cannot be behind stage 0, nor stage 2 behind stage 1, and so on.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/program.h"
#include "verify/ready/counters.h"
#include "verify/ready/linear.h"

namespace ripeline::verify {

// Each sum is >= 0 if a certain need has a backlog, which no stuck state within the invariant has.
// The needs are `same` needs within one share; each question takes at most `steps` of the solver.
[[nodiscard]] std::vector<Linear> excluded_backlogs(const spec::Program& program,
                                                    const Counters& counters, std::uint64_t steps);

}  // namespace ripeline::verify
