// OrderDepth: judges `dispatch in order` for every number of ranks. Each rank is at a position of
// its order, as in verify/order/cuts.h.
//
// An example: `F * microbatches; B * microbatches`, with the needs of a chain. A rank is in the
// first repeat with its turn f(r) = turn and b(r) = 0, in the second with f(r) = M and b(r) = turn,
// or at the end. Suppose that no rank can proceed and not all are at the end. Is some rank before
// an F? The first such rank is rank 0, whose F needs nothing, or the rank before it is further,
// with f = M; neither is blocked. So all have f = M, and the last rank before a B is rank R - 1,
// whose B needs its own F alone, or it waits for the next rank; but that rank is at its end, with b
// = M. Contradiction, whatever the number of ranks. Room is a separate question, since a rank's
// room depends only on the rank's own position.
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
