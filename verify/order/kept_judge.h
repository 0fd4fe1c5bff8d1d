// KeptJudge: readiness-first dispatch that keeps room for the rest of an order, by the order's own
// proof where that decides, else count by count.
//
// One thread.
#pragma once

#include <functional>
#include <string>

#include "verify/judge/fault.h"
#include "verify/judge/judge.h"
#include "verify/order/order_judge.h"
#include "verify/states/budget.h"
#include "verify/states/goal.h"
#include "verify/verify.h"

namespace ripeline::verify {

class KeptJudge final : public Judge {
 public:
  KeptJudge(const spec::Program& program, const VerifyOptions& options, Fault fault);
  [[nodiscard]] Finding deadlock() override;
  [[nodiscard]] MemoryFinding memory() override;

 private:
  [[nodiscard]] std::string beyond_order() const;
  [[nodiscard]] MemoryFinding by_capacities();
  // `open`: the reason if that does not settle it.
  [[nodiscard]] Finding by_states(const std::string& open,
                                  const std::function<Goal(int microbatches)>& goal_of);

  const spec::Program& program_;
  VerifyOptions options_;
  Fault fault_;
  spec::Program free_;       // without the room that is kept
  spec::Program committed_;  // to the order, in place of the dispatch
  OrderJudge order_;         // of that
  Budget budget_;
};

}  // namespace ripeline::verify
