// Counters: a readiness-first program as one integer per lane, for every microbatch count at once.
//
// A state is the number of ended tasks of each lane, and the number of microbatches; tasks run
// atomically. This suffices: if the tasks of a run are executed in the order of their starts, each
// ending before the next starts and each message arriving at once, they reach the same quiescent
// states, since ends and arrivals only enable starts. Amounts held just after a start are the same
// if a rank runs one task at a time; else the amounts of its other running tasks are added.
//
// Counts alone decide which lanes may start if, for each lane, the sets of microbatches that its
// producers have ended are nested: then the smallest count decides. Sets are nested if one producer
// is an ancestor of the other, or if both are prefixes: sequential lanes, lanes whose needs lead
// back to their own previous microbatch, and lanes between a prefix that acquires room for one
// microbatch at a time and the lane that releases it. The producers of a prefix must be prefixes.
// Where counts do not decide, `may` has facts that must hold and `must` has facts that suffice;
// then only proofs are sound, not the search for states. The facts that suffice count within a set
// that contains all others: the microbatches that a common ancestor has ended, or all.
//
// Bounded links. The order of arrivals over fifo edges is ignored, which only adds runs. Arrivals
// that no start uses are delayed to the end of the run: no task starts later, and no slot is freed
// later. (With the order, a message that no start uses may have to arrive before one that a start
// uses; this is taken into account in the last state alone.) So the same quiescent states are
// reached by running tasks one at a time, each taking its messages just before it starts, and by
// filling the slots at the end in any way that timing allows. In a quiescent state a slot is free
// only if no message waits for it. If an edge has k slots, k of its messages that are ready have
// arrived, or all if there are fewer; timing chooses which. At least one has arrived, which is
// enough for a lane that takes any microbatch and needs only this message still. Otherwise counts
// show only that all have arrived if there are at most k. Over a fifo edge with a sequential
// producer a prefix arrives, and with it the next message. Timing decides how many of a channel's
// slots each edge has; a variable counts them.
//
// An example: 1F1B's memory on two ranks, `F needs F at prev; B needs F at here, B at next`, where
// stage s has room for 2 - s activations, held from F to B. The four lanes have ended f0, b0, f1
// and b1 of M tasks. Apart from "less than M have ended", a task may start only if
//   0F:  1 - (f0 - b0) >= 0                          there is room for one more of two
//   1F:  f0 - f1 - 1 >= 0  and  0 - (f1 - b1) >= 0   0F is ahead, and there is room for one of one
//   1B:  f1 - b1 - 1 >= 0
//   0B:  b1 - b0 - 1 >= 0                            0F, which 1B needs, is ahead then as well
// Each lane has one innermost need, so the sets are nested and `must` is the same as `may`. The
// invariant has 0 <= f0 <= M and the like, f1 <= f0, b1 <= f1, b0 <= b1, and held <= capacity.
// Suppose a state is stuck: none of the four holds and some task is left. Then 1B is blocked,
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

// Plain data. Queries (verify/ready/counter_queries.h) read Counters, and from the guards only
// which tasks run side by side and how much room these leave.
struct Counters {
  int variables = 0;  // as numbered in Linear: the lanes' counts, then `shared`
  std::vector<SharedSlots> shared;
  std::vector<StartFacts> starts;  // per lane
  std::vector<Linear> held;        // per pool
  std::vector<Linear> invariant;   // all >= 0 in every reachable state
  std::vector<int> inexact;        // lanes whose `may` and `must` differ
};

[[nodiscard]] Counters count(const spec::Program& program);

// Why counts cannot follow the program; nullopt if they can. They cannot follow a need of a lane
// that has other microbatches if it is of the previous microbatch, nor if its link has slots unless
// the link is fifo between prefixes and its slots are its own.
[[nodiscard]] std::optional<std::string> beyond_counters(const spec::Program& program);

}  // namespace ripeline::verify
