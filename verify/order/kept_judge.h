// KeptJudge: readiness-first dispatch that keeps room for the rest of an order, by the order's own
// proof where that decides, else count by count.
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

// The program with its dispatch committed to the order that it keeps room for; what it asserts is
// not the order's.
[[nodiscard]] spec::Program committed_to_kept(const spec::Program& program);
// Why the proof of that order does not decide; nothing if it does.
[[nodiscard]] std::optional<std::string> beyond_kept_order(const spec::Program& program);

class KeptJudge final : public Judge {
 public:
  KeptJudge(const spec::Program& program, const VerifyOptions& options);
  // With this judge of the committed order, and this reason why its proof does not decide (nothing:
  // it does): the program's own, or a mistake that a test looks for.
  KeptJudge(const spec::Program& program, const VerifyOptions& options,
            std::unique_ptr<Judge> of_order, std::optional<std::string> beyond_order);
  [[nodiscard]] Finding deadlock() override;
  [[nodiscard]] MemoryFinding memory() override;

 private:
  [[nodiscard]] MemoryFinding by_capacities();
  // `open`: the reason if that does not settle it.
  [[nodiscard]] Finding by_states(const std::string& open,
                                  const std::function<Goal(int microbatches)>& goal_of);

  const spec::Program& program_;
  VerifyOptions options_;
  spec::Program free_;       // without the room that is kept
  spec::Program committed_;  // to the order, in place of the dispatch
  std::unique_ptr<Judge> of_order_;
  std::optional<std::string> beyond_order_;
  Budget budget_;
};

}  // namespace ripeline::verify
