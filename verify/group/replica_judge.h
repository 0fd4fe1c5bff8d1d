// ReplicaJudge: turns the judges' findings for one replica into findings for several replicas.
//
// It first asks the judge of one replica, which may be a group's. `collectives` means that all
// replicas start the reductions of an engine in one order. A committed order ensures this; without
// an order, this is proved for every number of replicas (verify/group/protocol.h). A proof that one
// replica does not deadlock is valid for all replicas under the conditions of
// verify/group/reductions.h (docs/proofs.md, Replicas, has the argument). A counterexample of one
// replica counts only if a replay shows that all replicas can make its run at once. One thread.
#pragma once

#include <memory>
#include <optional>

#include "verify/group/reductions.h"
#include "verify/judge/judge.h"
#include "verify/verify.h"

namespace ripeline::verify {

class ReplicaJudge final : public Judge {
 public:
  ReplicaJudge(const spec::Program& program, const VerifyOptions& options,
               std::unique_ptr<Judge> of_one)
      : ReplicaJudge(program, options, std::move(of_one), Reductions(program).doubt()) {}
  // `doubt` is the program's own, or one that a test makes up.
  ReplicaJudge(const spec::Program& program, const VerifyOptions& options,
               std::unique_ptr<Judge> of_one, std::optional<Doubt> doubt);

  [[nodiscard]] Finding once() override { return of_one_->once(); }
  [[nodiscard]] Finding collectives() override;
  // Must be asked after collectives().
  [[nodiscard]] Finding deadlock() override;
  [[nodiscard]] MemoryFinding memory() override;

 private:
  [[nodiscard]] Finding of_all(Finding of_one) const;

  const spec::Program& program_;
  const VerifyOptions& options_;
  std::unique_ptr<Judge> of_one_;
  Reductions reductions_;
  std::optional<Doubt> doubt_;
  bool one_order_ = false;  // true if collectives() proved one order
};

}  // namespace ripeline::verify
