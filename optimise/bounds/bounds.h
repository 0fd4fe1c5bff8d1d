// Lower bounds: what no schedule can beat, whatever finds it.
//
// A schedule that takes as long as its bound is optimal; what it takes longer is the gap. A bound
// holds for every legal schedule: no order of the tasks and no dispatch goes below it. Of several
// formulas the largest counts, and `by` names it, with its rank, for people:
//
//   work        A rank does one task at a time, so it takes at least the sum of its tasks. In a
//               program, for any set of an engine's tasks: the least path before them, the sum of
//               their times, and the least path after them; the set with the largest bound counts.
//   head        Before its first input gradient, a rank can only run the forwards for which its
//               memory has room. The rest of that time it idles, and its other work comes after.
//   head+tail   When the last forward of a rank starts, all its other forwards have ended, and as
//               many W as the memory asks for. That forward then goes down the pipeline, and its
//               gradient comes back up to rank 0.
//   head+drain  When the last input gradient of a rank ends, all its F and I have ended, and the W
//               that made room for them. That gradient then goes up to rank 0, where a W follows.
//   cycle       An activation stays on a rank from its F to its W, for a whole trip down and up.
//               Each slot of the memory makes one trip after the other.
//   room        All trips of a rank's activations together fill its memory for so long at least.
//   path        Tasks that need each other come one after the other, with messages between them.
//   messages    The same as work, for a link with bandwidth, which carries one message at a time.
//
// In a program these hold for all tasks that acquire and release, in any amounts; `by` then names
// the pool. All were derived by this project, and are tested against optima found by trying all
// orders. One consequence: with a memory of `ranks` activations, and at least twice as many
// microbatches, the bubble of a chain is at least (ranks - 1)(F + I - W + 4 latencies). ZB-H1
// reaches that if two latencies are no longer than W, so it is optimal then.
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
  every_cut,        // no cut of a model's layers has a busiest rank that has less to do (cuts.h)
  solver,           // it excluded all that is below
  solver_of_parts,  // the same, in each part of a step (part_bounds.h)
};
[[nodiscard]] std::string_view name_of(Formula formula);  // head+tail

struct Bound {
  std::int64_t value = 0;
  std::string by;  // head+tail of rank 0
  Formula formula = Formula::none;
  std::string of = {};  // the pool, or the engine if it is not `compute`; empty: of neither
};

// The bound is in the unit of the problem's costs; the sum of all tasks' times must fit in 64 bits.
[[nodiscard]] Bound lower_bound(const Uniform& problem, Objective objective);

// The bound is in nanoseconds, as the simulator counts them, and for every dispatch of the program.
// If tasks of a pair may overlap, the time that both take together counts. Bounded links, `leaving`
// and orders are left out, and so are capacities of pools that several engines use: that can only
// make the bound lower. Fails by status for times that are drawn, for a number of microbatches that
// the program is not for, and where Timing::make() fails.
[[nodiscard]] core::Status lower_bound(const spec::Program& program, int microbatches,
                                       const simulate::TimingOptions& times, Objective objective,
                                       Bound& bound);

}  // namespace ripeline::optimise
