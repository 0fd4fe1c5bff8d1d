// KeptJudge: judges readiness-first dispatch that keeps room for the rest of an order. The proof of
// the committed order decides if it can; otherwise counts are judged one by one.
//
// One thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "verify/judge/judge.h"
#include "verify/states/budget.h"
#include "verify/states/goal.h"
#include "verify/verify.h"

namespace ripeline::verify {

// The program with its dispatch committed to the order that it keeps room for, and without its
// assertions, which the proof of that order does not need.
[[nodiscard]] spec::Program committed_to_kept(const spec::Program& program);
// Why a proof of the committed order does not decide the program; nullopt if it does.
[[nodiscard]] std::optional<std::string> beyond_kept_order(const spec::Program& program);

class KeptJudge final : public Judge {
 public:
  KeptJudge(const spec::Program& program, const VerifyOptions& options);
  // Uses the given judge of the committed order and the reason why its proof does not decide
  // (nullopt if it does). Both are the program's own, or have a mistake that a test plants.
  KeptJudge(const spec::Program& program, const VerifyOptions& options,
            std::unique_ptr<Judge> of_order, std::optional<std::string> beyond_order);
  [[nodiscard]] Finding deadlock() override;
  [[nodiscard]] MemoryFinding memory() override;

 private:
  [[nodiscard]] MemoryFinding by_capacities();
  // `open` is the reason to report if visiting states does not settle the goal.
  [[nodiscard]] Finding by_states(const std::string& open,
                                  const std::function<Goal(int microbatches)>& goal_of);

  const spec::Program& program_;
  VerifyOptions options_;
  spec::Program free_;       // without kept room
  spec::Program committed_;  // with the kept order as its dispatch
  std::unique_ptr<Judge> of_order_;
  std::optional<std::string> beyond_order_;
  Budget budget_;
};

}  // namespace ripeline::verify
