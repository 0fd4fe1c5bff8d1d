// OrderDepth: judges `dispatch in order` for every number of ranks. Each rank is at a position of
// its order, as in verify/order/cuts.h.
//
// An example: `F * microbatches; B * microbatches` with the needs of a chain. Rank r has run f(r)
// tasks of F and b(r) of B. In turn t of the first repeat f(r) = t and b(r) = 0; in turn t of the
// second f(r) = M and b(r) = t; or the rank is at its end. Suppose that no rank can proceed and not
// all are at the end. Is some rank before an F? The first such rank is rank 0, whose F needs
// nothing, or the rank before it has f = M; neither is blocked. So all have f = M. The last rank
// before a B is rank R - 1, whose B needs only its own F, or the next rank is at its end, with b =
// M; neither is blocked. Contradiction, for any number of ranks. Room is a separate question, since
// a rank's room depends only on the rank's own position.
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
