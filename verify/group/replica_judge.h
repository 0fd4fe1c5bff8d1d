// ReplicaJudge: turns the judges' findings for one replica into findings for several replicas.
//
// It is asked after the judges of one replica, which may be those of a group. `collectives`:
// replicas that agree start the reductions of an engine in one order, by verify/group/protocol.h,
// for every number of replicas; in a committed order they have no choice. A proof that one replica
// does not stick holds for all under conditions that the judge checks (verify/group/reductions.h);
// docs/proofs.md, Replicas, has the argument. A run that refutes is one replica's; it is replayed
// with all replicas making it at once. One thread.
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
  // With a given doubt: the program's own, or one from a mistake that a test plants.
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
  bool one_order_ = false;  // collectives() proved it
};

}  // namespace ripeline::verify
