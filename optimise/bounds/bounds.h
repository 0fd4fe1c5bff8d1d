// Lower bounds on the time of a step: no schedule takes less, whatever method finds it.
//
// A schedule that takes exactly as long as a bound is optimal; otherwise the difference is its gap.
// A bound holds for every legal schedule: no order of the tasks and no dispatch takes less time.
// The largest value of these formulas is the bound; `by` names its formula and rank, for people:
//
//   work        A rank runs one task at a time, so it takes at least the sum of its task times. In
//               a program: for any set of an engine's tasks, the shortest path before any of them,
//               plus the sum of their times, plus the shortest path after any. The largest counts.
//   head        Before its first input gradient, a rank can only run the forwards for which its
//               memory has room. It idles for the rest of that time; its other work comes after.
//   head+tail   Before the last forward of a rank starts, all its other forwards have ended, and so
//               have the W that freed the memory for them. After that forward, its microbatch goes
//               down the pipeline, and the gradient comes back up to rank 0.
//   head+drain  When a rank's last input gradient ends, all its F and I have ended, and so have the
//               W that made room for them. That gradient then goes up to rank 0, where a W follows.
//   cycle       An activation stays on a rank from its F to its W, for a whole trip down and up.
//               Each slot of the memory serves such trips one after the other.
//   room        A rank's memory must hold all its activations, each for the time of its trip.
//   path        Tasks that each need the previous one run in turn, with messages in between.
//   messages    The same as work, for a link with bandwidth, which carries one message at a time.
//
// In a program these formulas hold for all tasks that acquire and release, in any amounts; `by`
// then also names the pool. All formulas were derived in this project, and tested against optima
// that trying all orders found. One consequence: if the memory holds `ranks` activations and there
// are at least twice as many microbatches, the bubble of a chain is at least
// (ranks - 1)(F + I - W + 4 latencies). ZB-H1 reaches this, and is optimal, if 2 latencies <= W.
//
// Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"
#include "optimise/uniform.h"
#include "simulate/timing.h"
#include "spec/program.h"

namespace ripeline::optimise {

enum class Formula : std::uint8_t {
  none,  // nothing takes any time
  work,
  head,
  head_and_tail,
  head_and_drain,
  cycle,
  room,
  path,
  messages,
  every_cut,        // every cut of a model's layers gives some rank at least so much work (cuts.h)
  solver,           // the solver excluded all lower values
  solver_of_parts,  // the solver bounded each part of a step (part_bounds.h)
};
[[nodiscard]] std::string_view name_of(Formula formula);  // such as head+tail

struct Bound {
  std::int64_t value = 0;
  std::string by;  // such as `head+tail of rank 0`
  Formula formula = Formula::none;
  std::string of = {};  // the pool, or the engine unless it is `compute`; empty if neither applies
};

// The bound is in the unit of the problem's costs; the sum of all tasks' times must fit in 64 bits.
[[nodiscard]] Bound lower_bound(const Uniform& problem, Objective objective);

// The bound is in nanoseconds, as the simulator counts them, and holds for every dispatch of the
// program. For a pair that may overlap, the time that its tasks take together counts. Ignores
// bounded links, `leaving`, orders, and capacities of pools that several engines use; this can only
// lower the bound. Fails by status if times are drawn, if the program does not allow this number of
// microbatches, or if Timing::make() fails.
[[nodiscard]] core::Status lower_bound(const spec::Program& program, int microbatches,
                                       const simulate::TimingOptions& times, Objective objective,
                                       Bound& bound);

}  // namespace ripeline::optimise
