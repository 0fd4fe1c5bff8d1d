// Counters: a readiness-first program as one integer per lane, for every microbatch count at once.
//
// The state is how many tasks of each lane have ended, and the number of microbatches; tasks run
// atomically. That is enough: executed in the order of their starts, each ending before the next
// starts and each message arriving at once, the tasks of any run reach the same quiescent states,
// since ends and arrivals only ever enable. Amounts held just after a start are also the same if a
// rank runs one task at a time; else amounts that others on it have not released yet come on top.
//
// Counts alone decide exactly which lanes may start if, for each lane, the sets of microbatches
// that its producers have ended are nested: then the smallest count decides. Sets are nested if one
// producer is an ancestor of the other, or if both are prefixes. Prefixes are sequential lanes,
// lanes whose needs lead back to their own microbatch before, and lanes between the start of a
// prefix, which lets one microbatch in, and the end that lets it out, if no two fit in. A prefix
// that consumes needs prefixes. Otherwise `may` has facts that must hold and `must` has facts that
// suffice; then only proofs are sound, not the search for states. What suffices is counted within a
// set that holds all the others: what a common ancestor has ended, or every microbatch.
//
// Bounded links. Ignore the order of arrivals over fifo edges, which only adds runs, and delay the
// arrivals that no start uses to the end of the run: no task starts later for that, and slots are
// freed no later. (With the order, a message that no start uses may have to arrive before one that
// a start uses; this is taken into account in the last state alone.) So the same quiescent states
// are reached by running tasks one at a time, each taking its messages just before it starts, and
// by filling the slots at the end, in any way that timing allows; quiescent means that a slot is
// free only if no message waits for it. With k slots, some k of the messages that one edge has
// ready have arrived, whichever timing chose: at least one, which is enough for a lane that takes
// any microbatch and gets this message last; otherwise counts tell only that all have arrived, if
// they are no more than the slots. Over a fifo edge with a sequential producer a prefix arrives,
// and with it the next message. Each edge of a channel has as many of its slots as timing gave the
// edge, which is a variable.
//
// An example: 1F1B's memory on two ranks, `F needs F at prev; B needs F at here, B at next`, where
// stage s has room for 2 - s activations, from F to B. Four lanes, with f0, b0, f1 and b1 of M
// tasks ended. Beside "less than M have ended", a task may start only if
//   0F:  1 - (f0 - b0) >= 0                          there is room for one more of two
//   1F:  f0 - f1 - 1 >= 0  and  0 - (f1 - b1) >= 0   0F is ahead, and there is room for one of one
//   1B:  f1 - b1 - 1 >= 0
//   0B:  b1 - b0 - 1 >= 0                            0F, which 1B needs, is ahead then as well
// Each lane has one innermost need, so the sets are nested and `must` is the same as `may`. The
// invariant has 0 <= f0 <= M and the like, f1 <= f0, b1 <= f1, b0 <= b1, and held <= capacity.
// Stuck would be a state in which none of the four holds and something is left. Then 1B is blocked,
// so b1 = f1, so 1F has room and is blocked by f1 = f0 or by f1 = M. If f1 = M, then b1 = M and 0B
// may start unless all is done. If f1 = f0 < M, then 0F is blocked, so f0 - b0 >= 2, so b0 < f0 =
// b1 and 0B may start. The solver finds no such integers for any M: proved, whatever the timing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/program.h"
#include "verify/ready/linear.h"
#include "verify/ready/link_facts.h"
#include "verify/ready/start_facts.h"

namespace ripeline::verify {

// Plain data. Of the guards, queries (verify/ready/counter_queries.h) read only this and which
// tasks run side by side, with the room that these leave.
struct Counters {
  int variables = 0;  // numbered in Linear: the lanes' counts, then those of `shared`
  std::vector<SharedSlots> shared;
  std::vector<StartFacts> starts;  // per lane
  std::vector<Linear> held;        // per pool
  std::vector<Linear> invariant;   // all >= 0 in every reachable state
  std::vector<int> inexact;        // lanes whose `may` and `must` differ
};

[[nodiscard]] Counters count(const spec::Program& program);

// Why counts cannot follow the program; nothing if they can. They cannot where lanes with different
// microbatches need each other's microbatch before, or need each other over a link with slots,
// unless the link is fifo between prefixes and shares no slots.
[[nodiscard]] std::optional<std::string> beyond_counters(const spec::Program& program);

}  // namespace ripeline::verify
