// Lower bounds on the time of a step: no schedule takes less, whatever method finds it.
//
// A schedule that takes exactly as long as a bound is optimal; otherwise the difference is its gap.
// A bound holds for every legal schedule: no order of the tasks and no dispatch takes less time.
// The largest of these formulas is the bound; `by` names that formula and its rank, for people:
//
//   work        A rank does one task at a time, so it takes at least the sum of its tasks. In a
//               program: the largest bound by any set of an engine's tasks, which is the least path
//               before them, plus the sum of their times, plus the least path after them.
//   head        Before its first input gradient, a rank can only run the forwards for which its
//               memory has room. The rest of that time it idles, and its other work comes after.
//   head+tail   When the last forward of a rank starts, all its other forwards have ended, and so
//               have as many W as it needs to get memory. That forward then goes down the pipeline,
//               and its gradient comes back up to rank 0.
//   head+drain  When a rank's last input gradient ends, all its F and I have ended, and so have the
//               W that made room for them. That gradient then goes up to rank 0, where a W follows.
//   cycle       An activation stays on a rank from its F to its W, for a whole trip down and up.
//               Each slot of the memory serves one such trip after the other.
//   room        A rank's memory must hold all its activations, each for the time of its trip.
//   path        Tasks of which each needs the one before run one after the other, with messages.
//   messages    The same as work, for a link with bandwidth, which carries one message at a time.
//
// In a program these formulas hold for all tasks that acquire and release, in any amounts; `by`
// then names the pool. All are derived in this project, and tested against optima found by trying
// all orders. One consequence: with a memory of `ranks` activations, and at least twice as many
// microbatches, the bubble of a chain is at least (ranks - 1)(F + I - W + 4 latencies). ZB-H1
// reaches this bound, and so is optimal, if two latencies are no longer than W.
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
  solver,           // it excluded all lower values
  solver_of_parts,  // the same, in each part of a step (part_bounds.h)
};
[[nodiscard]] std::string_view name_of(Formula formula);  // head+tail

struct Bound {
  std::int64_t value = 0;
  std::string by;  // head+tail of rank 0
  Formula formula = Formula::none;
  std::string of = {};  // the pool, or the engine unless it is `compute`; empty if neither applies
};

// The bound is in the unit of the problem's costs; the sum of all tasks' times must fit in 64 bits.
[[nodiscard]] Bound lower_bound(const Uniform& problem, Objective objective);

// The bound is in nanoseconds, as the simulator counts them, and holds for every dispatch of the
// program. If tasks of a pair may overlap, the time that both take together counts. Bounded links,
// `leaving` and orders are left out, and so are capacities of pools that several engines use: that
// can only make the bound lower. Fails by status for times that are drawn, for a number of
// microbatches outside the program's range, and where Timing::make() fails.
[[nodiscard]] core::Status lower_bound(const spec::Program& program, int microbatches,
                                       const simulate::TimingOptions& times, Objective objective,
                                       Bound& bound);

}  // namespace ripeline::optimise
