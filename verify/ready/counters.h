// Counters: a readiness-first program as one integer per lane, for every microbatch count at once.
//
// The state is how many tasks of each lane have ended, and the number of microbatches; tasks run
// atomically. That is enough: executed in the order of their starts, each ending before the next
// starts and each message arriving at once, the tasks of any run reach the same quiescent states,
// since ends and arrivals only ever enable. Held amounts just after a start are the same too where
// a rank runs one task at a time; else what others on it have not released yet comes on top.
//
// What counts alone can say of `may start` is exact when, for each lane, the sets of microbatches
// that its producers have ended are nested: then the smallest count decides. Sets are nested when
// one producer is an ancestor of the other, or when both are prefixes: those of a sequential lane,
// of one whose needs lead back to its own microbatch before, and of those between the start of a
// prefix, which lets one microbatch in, and the end that lets it out, where no two fit in. A
// consumer that is a prefix needs prefixes. Otherwise `may` is what must at least hold and `must`
// is what suffices, and only proofs are sound, not the search for states. What suffices is counted
// within a set that holds all the others: what a common ancestor has ended, or every microbatch.
//
// Bounded links. Leave the order of arrivals over fifo edges aside, which only adds runs, and let
// the arrivals that no start uses be delayed to the end of the run: nothing that started starts
// later for it, and slots are freed no later. (With the order, a message that no start uses may
// have to arrive before one that a start uses; it is counted on in the last state alone.) So the
// same quiescent states are reached by running tasks one at a time, each taking its messages just
// before it starts, and by filling the slots at the end, in any way that timing allows; quiescent
// means that a slot is free only if no message waits for it. With k slots, of what one edge has
// ready, some k have arrived, whichever timing chose: one at least, which is enough for a lane that
// takes any microbatch and gets this message last; otherwise counts say only that all have arrived
// when they are no more than the slots. Over a fifo edge with a sequential producer a prefix
// arrives, and the next one with it. Of a channel's slots each edge has as many as timing gave it,
// a variable of its own.
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
// Stuck would be a state in which none of the four holds and something is left. Then 1B blocked
// says b1 = f1, so 1F has room and is blocked by f1 = f0 or by f1 = M. If f1 = M, then b1 = M and
// 0B may start unless all is done. If f1 = f0 < M, then 0F blocked says f0 - b0 >= 2, so b0 < f0 =
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

// Plain data. Queries (verify/ready/counter_queries.h) read nothing else of the guards but what
// runs side by side, and the room that it leaves.
struct Counters {
  int variables = 0;  // in Linear: a count for each lane, then those of `shared`
  std::vector<SharedSlots> shared;
  std::vector<StartFacts> starts;  // per lane
  std::vector<Linear> held;        // per pool
  std::vector<Linear> invariant;   // all >= 0 in every reachable state
  std::vector<int> inexact;        // lanes of which `may` and `must` differ
};

[[nodiscard]] Counters count(const spec::Program& program);

// Why counts say nothing of the program: lanes that have different microbatches need each other of
// the one before, or over a link with slots, unless that keeps the order of lanes that have one.
// Nothing: they do.
[[nodiscard]] std::optional<std::string> beyond_counters(const spec::Program& program);

}  // namespace ripeline::verify
