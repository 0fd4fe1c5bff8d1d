// The invariant of a readiness-first program: facts that are >= 0 in every reachable state.
//
// Why it is inductive. Counts: a task starts only behind its producers, and its own count alone
// rises. Room: a start is admitted only if held + amount + leaving <= capacity, and all else only
// lowers what is held. Reserved room: verify/ready/holders.h divides what a pool holds into parts,
// none less than nothing, each raised by the starts of one lane alone. When a lane starts that
// leaves l and acquires a, of which its parts in some set K get k, then held + a + l <= capacity
// beforehand, and K holds no more than the pool: so afterwards K holds at most capacity - l - (a -
// k). At any other event what K holds only falls. For n > 0 let K have of each lane the parts that
// are given back last, as many as there may be with l + (a - k) >= n: then K never holds more than
// capacity - n. CounterQueries asks the solver for all of this again.
//
// An example: two chunks on a rank share room for 2, and stage 0 acquires `leaving 1` where stage 3
// leaves nothing. Then for n = 1, K is what stage 0 holds, and that this is <= 1 is a fact: without
// it a state in which stage 0 holds both and stage 3 waits for room would look reachable.
//
// Another one: F acquires 5 of which O gives back 3, L acquires 3 `leaving 5`, and B gives back 5,
// of 16. Of F's 5 the 2 that B gives back leave 3, and for n = 3 they and what L holds are at most
// 13: so when O has given back all that it can, B finds room for 3 of its own. For n = 5, what L
// holds alone is at most 11.
#pragma once

#include <vector>

#include "spec/guards.h"
#include "spec/program.h"
#include "verify/ready/linear.h"

namespace ripeline::verify {

// `held` is what each pool holds, as Counters::held.
[[nodiscard]] std::vector<Linear> invariant_of(const spec::Program& program,
                                               const std::vector<spec::Guards>& guards,
                                               const std::vector<Linear>& held);

}  // namespace ripeline::verify
