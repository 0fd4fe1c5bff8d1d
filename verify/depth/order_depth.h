// OrderDepth: `dispatch in order` with every number of ranks: each rank stands at a place of its
// order, as in verify/order/cuts.h.
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
