// Lower bounds: what no schedule can beat, whatever finds it.
//
// A schedule that takes as long as its bound is optimal; what it takes longer is the gap. Every
// bound here holds for every legal schedule: no order of the tasks and no dispatch goes below it.
// Of several formulas the largest counts, and `by` names it, with its rank:
//
//   work           A rank does one task at a time, so it takes at least the sum of its tasks.
//   head           Before its first input gradient, a rank can only run the forwards that its
//                  memory has room for. Until then it idles, and all its work is still to come.
//   head+tail      When the last forward of a rank starts, all other forwards have ended, and so
//                  many W as the memory asks for. The last forward then goes down the pipeline, and
//                  its gradient comes back up to rank 0.
//   head+drain     When the last input gradient of a rank ends, all its F and I have ended, and the
//                  W that made room for them. The gradient then goes up to rank 0, which adds a W.
//   cycle          On rank 0, an activation stays from F until its W, for a whole trip down and up.
//                  So many trips come one after the other in each slot of the memory.
//   room           The trips of all activations of a rank, one after the other, fill the slots of
//                  its memory for so long.
//   path           Tasks that need each other come one after the other, with the messages between.
//   work ... of a program: of some tasks of an engine, the least path before, all they take, and
//                  the least path after; of all sets of tasks of the engine, the one that gives
//                  most.
//   messages       The same of a link with bandwidth, which one message at a time keeps to itself.
//
// The formulas of the uniform problem were derived by this project. One consequence: at a memory of
// `ranks` activations and from twice as many microbatches on, the bubble is at least
// (ranks - 1)(F + I - W + 4 latencies), which ZB-H1 reaches, so that it is optimal there.
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

// In nanoseconds, as the simulator counts them; of every dispatch of the program. Capacities,
// bounded links and orders are left out of account, which can only make the bound lower. Of a pair,
// whose tasks run beside each other, counts what they take together at least. Fails by status:
// times that are drawn, what no run can begin with, and needs that wait for each other.
[[nodiscard]] core::Status lower_bound(const spec::Program& program, int microbatches,
                                       const simulate::TimingOptions& times, Objective objective,
                                       Bound& bound);

}  // namespace ripeline::optimise
