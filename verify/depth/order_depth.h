// OrderDepth: `dispatch in order` with every number of ranks: each rank stands at a place of its
// order, as in verify/order/cuts.h.
//
// An example: `F * microbatches; B * microbatches`, with the needs of a chain. A rank stands in the
// first repeat with its turn f(r) = turn and b(r) = 0, in the second with f(r) = M and b(r) = turn,
// or at the end. Suppose that nobody can go on and not all are at the end. Does some rank stand
// before an F? The first of them is rank 0, whose F needs nothing, or the rank before it stands
// further on, with f = M: neither is blocked. So all have f = M, and the last rank before a B is
// rank R - 1, whose B needs its own F alone, or is blocked by the next rank; but that rank is at
// its end, where b = M. Contradiction, whatever the number of ranks. Room is a question of its own:
// on one rank it depends on the rank's own place.
#pragma once

#include "verify/depth/shape.h"
#include "verify/judge/judge.h"
#include "verify/solver/solver.h"

namespace ripeline::verify::depth {

class OrderDepth final : public Judge {
 public:
  OrderDepth(const Shape& shape, const SolverUse& use);
  [[nodiscard]] Finding once() override;
  [[nodiscard]] Finding deadlock() override;
  [[nodiscard]] MemoryFinding memory() override;

 private:
  const Shape& shape_;
  SolverUse use_;
  Finding once_;
};

}  // namespace ripeline::verify::depth
