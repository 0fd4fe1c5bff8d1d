// Shares of the microbatches: as sets, and counted by a solver.
//
// A share is one of core/vocabulary/share.h; a share without microbatches has no remainders, and is
// used only for counting.
#pragma once

#include "spec/program.h"
#include "verify/solver/solver.h"

namespace ripeline::verify {

// The microbatches of `share` that `other` lacks.
[[nodiscard]] spec::Share without(const spec::Share& share, const spec::Share& other);
// The producer's microbatches that tasks of the consumer need, for any number of microbatches.
[[nodiscard]] spec::Share needed_share(const spec::Program& program, const spec::Edge& edge);

// How many of the first `microbatches` a share has; 0 or less if `microbatches` is negative.
[[nodiscard]] Term below(Solver& solver, const spec::Share& share, Term microbatches);
// The k-th microbatch, counted from 0, of a share that is not empty.
[[nodiscard]] Term microbatch(Solver& solver, const spec::Share& share, Term k);
// The least count of microbatches that has `tasks` of the share; 0 or less if `tasks` is 0 or less.
[[nodiscard]] Term reach(Solver& solver, const spec::Share& share, Term tasks);

}  // namespace ripeline::verify
