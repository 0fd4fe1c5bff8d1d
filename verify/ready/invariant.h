// The invariant of a readiness-first program: facts that are >= 0 in every reachable state.
//
// It is inductive for these reasons. Counts: a task starts only behind its producers, and raises
// only its own count. Room: a start is admitted only if held + amount + leaving <= capacity, and
// all other events only lower amounts. Reserved room: verify/ready/holders.h divides a pool's
// amount into parts, none negative, each raised by the starts of one lane alone. Let K be a set of
// parts. Suppose that a lane starts that leaves l and acquires a, of which k is for its parts in K.
// Before the start, held + a + l <= capacity, and K holds at most what the pool holds; so
// afterwards K holds at most capacity - l - (a - k). Other events only lower the amount in K. For n
// > 0 choose K so that it has the last released parts of each lane, as many as allow l + (a - k) >=
// n: then K never holds more than capacity - n. CounterQueries lets the solver check this again.
//
// An example: two chunks on a rank share room for 2, and stage 0 acquires `leaving 1` where stage 3
// leaves nothing. Then for n = 1, K is the amount that stage 0 holds, and K <= 1 is a fact. Without
// it, a state in which stage 0 holds both and stage 3 waits for room would look reachable.
//
// Another example: in a pool of 16, F acquires 5, of which O releases 3, L acquires 3 `leaving 5`,
// and B releases 5. The 2 of F's 5 that B releases leave 3. For n = 3 these 2 and what L holds are
// at most 13: so when O has released all that it can, there is room for 3 more. For n = 5, the
// amount that L holds alone is at most 11.
#pragma once

#include <vector>

#include "spec/guards.h"
#include "spec/program.h"
#include "verify/ready/linear.h"

namespace ripeline::verify {

// `held` is the amount that each pool holds, as in Counters::held.
[[nodiscard]] std::vector<Linear> invariant_of(const spec::Program& program,
                                               const std::vector<spec::Guards>& guards,
                                               const std::vector<Linear>& held);

}  // namespace ripeline::verify
