// Repeats: a rank's order as repeats whose counts are terms of a solver, and the positions in them.
//
// Plain values; their terms belong to the solver that was passed in.
#pragma once

#include <vector>

#include "spec/diagnostics.h"
#include "spec/program.h"
#include "verify/order/periods.h"
#include "verify/order/positions.h"
#include "verify/solver/solver.h"

namespace ripeline::verify {

struct Repeat {
  Term count;
  std::vector<int> lanes;  // per step; -1 if the lane does not exist
  std::vector<PositionInTurn> positions;
};

[[nodiscard]] Repeat repeat_of(Term count, std::vector<int> lanes);

// The repeats of rank `rank`. Errors: order-not-linear, with its position, if a count is not linear
// in the microbatches, or a step's chunk depends on them.
[[nodiscard]] spec::Result<std::vector<Repeat>> read_repeats(const spec::Program& program,
                                                             const spec::Order& order, int rank,
                                                             Solver& solver, Term microbatches);
// The repeats of an order with streams, at one remainder; `turn` stands for q (periods.h).
[[nodiscard]] std::vector<Repeat> periodic_repeats(const PeriodicOrder& order, int rank,
                                                   Solver& solver, Term turn);

}  // namespace ripeline::verify
