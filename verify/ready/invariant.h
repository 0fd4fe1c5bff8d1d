// The invariant of a readiness-first program: facts that are >= 0 in every reachable state.
//
// Why it is inductive. Counts: a task starts only behind its producers, and its own count alone
// rises. Room: a start is admitted only if held + amount + leaving <= capacity, and all else only
// lowers what is held. Reserved room: for n > 0 let S be the stages all of whose lanes that acquire
// from a pool leave at least n. When one of these starts, the pool's total afterwards is at most
// capacity - n, and what S holds is at most the total, since no stage holds less than nothing;
// otherwise what S holds only falls. CounterQueries asks the solver for all of this again.
//
// An example of reserved room: two chunks on a rank share room for 2, and stage 0 acquires `leaving
// 1` where stage 3 leaves nothing. Then S = {0}, n = 1, and held by stage 0 <= 1 is a fact: without
// it a state in which stage 0 holds both and stage 3 waits for room would look reachable.
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
