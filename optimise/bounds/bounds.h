// Lower bounds: what no schedule can beat, whatever finds it.
//
// A schedule that takes as long as its bound is optimal; what it takes longer is the gap. A bound
// holds for every legal schedule: no order of the tasks and no dispatch goes below it. Of several
// formulas the largest counts, and `by` names it, with its rank:
//
//   work        A rank does one task at a time, so it takes the sum of its tasks at least. In a
//               program: of any tasks of an engine, the least path before, all that they take, and
//               the least path after; the tasks that give most.
//   head        Before its first input gradient, a rank can only run the forwards that its memory
//               has room for. For the rest of that time it idles, and its other work comes after.
//   head+tail   When the last forward of a rank starts, all its other forwards have ended, and as
//               many W as the memory asks for. That forward then goes down the pipeline, and its
//               gradient comes back up to rank 0.
//   head+drain  When the last input gradient of a rank ends, all its F and I have ended, and the W
//               that made room for them. That gradient then goes up to rank 0, where a W follows.
//   cycle       An activation stays on a rank from its F to its W, for a whole trip down and up.
//               Each slot of the memory makes one trip after the other.
//   room        All trips of a rank's activations together fill its memory for so long at least.
//   path        Tasks that need each other come one after the other, with messages between them.
//   messages    The same as work, of a link with bandwidth, which carries one message at a time.
//
// In a program these hold of whatever acquires and releases, in any amounts; `by` then says of
// which pool. All were derived by this project, and are tested against optima found by going
// through all orders. One consequence: with a memory of `ranks` activations, and from twice as many
// microbatches on, the bubble of a chain is at least (ranks - 1)(F + I - W + 4 latencies). ZB-H1
// reaches that where two latencies are no longer than W, so it is optimal there.
//
// Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"
#include "optimise/uniform.h"
#include "simulate/timing.h"
#include "spec/program.h"

namespace ripeline::optimise {

struct Bound {
  std::int64_t value = 0;
  std::string by;  // head+tail of rank 0
};

// In the unit of its costs; the sum of all tasks of all ranks must fit in 64 bits.
[[nodiscard]] Bound lower_bound(const Uniform& problem, Objective objective);

// In nanoseconds, as the simulator counts them, and for every dispatch of the program. Where tasks
// of a pair may run beside each other, what they take together counts. Bounded links, `leaving` and
// orders are left out, and so are the capacities of what several engines use: that can only make
// the bound lower. Fails by status: times that are drawn, a count that the program is not for, and
// what Timing::make() refuses.
[[nodiscard]] core::Status lower_bound(const spec::Program& program, int microbatches,
                                       const simulate::TimingOptions& times, Objective objective,
                                       Bound& bound);

}  // namespace ripeline::optimise
