// Shares of the microbatches: as sets, and counted by a solver.
//
// A share is core/vocabulary/share.h's; one without a microbatch has no remainders, and is only
// counted.
#pragma once

#include "spec/program.h"
#include "verify/solver/solver.h"

namespace ripeline::verify {

// Those of `share` that `other` lacks.
[[nodiscard]] spec::Share without(const spec::Share& share, const spec::Share& other);
// The producer's microbatches that some task of the consumer needs, were there one for each.
[[nodiscard]] spec::Share needed_share(const spec::Program& program, const spec::Edge& edge);

// How many of the first `microbatches` a share has; of fewer than 0, 0 or less.
[[nodiscard]] Term below(Solver& solver, const spec::Share& share, Term microbatches);
// The k-th of a share that has some, from 0 on.
[[nodiscard]] Term microbatch(Solver& solver, const spec::Share& share, Term k);
// The fewest microbatches of which a share has `tasks`; of 0 tasks or fewer, 0 or less.
[[nodiscard]] Term reach(Solver& solver, const spec::Share& share, Term tasks);

}  // namespace ripeline::verify
