// The invariant of a readiness-first program: facts that are >= 0 in every reachable state.
//
// Why it is inductive. Counts: a task starts only behind its producers, and raises its own count
// alone. Room: a start is admitted only if held + amount + leaving <= capacity, and all other
// events only lower what is held. Reserved room: verify/ready/holders.h divides what a pool holds
// into parts, none negative, each raised by the starts of one lane alone. Let K be some set of
// parts. When a lane starts that leaves l and acquires a, of which its parts in K get k, then held
// + a + l <= capacity beforehand, and K holds no more than the pool: so afterwards K holds at most
// capacity - l - (a - k). At any other event the amount in K only falls. For n > 0 let K have, of
// each lane, as many of the parts given back last as there may be with l + (a - k) >= n: then K
// never holds more than capacity - n. CounterQueries asks the solver for all of this again.
//
// An example: two chunks on a rank share room for 2, and stage 0 acquires `leaving 1` where stage 3
// leaves nothing. Then for n = 1, K is the amount that stage 0 holds, and K <= 1 is a fact: without
// it a state in which stage 0 holds both and stage 3 waits for room would look reachable.
//
// Another example: in a pool of 16, F acquires 5, of which O gives back 3, L acquires 3 `leaving
// 5`, and B gives back 5. Of F's 5, the 2 that B gives back leave 3. For n = 3 these 2 and what L
// holds are at most 13: so when O has given back all that it can, B finds room for 3 of its own.
// For n = 5, the amount that L holds alone is at most 11.
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
