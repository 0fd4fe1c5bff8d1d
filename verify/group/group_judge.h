// GroupJudge: turns the judges' findings for one member into findings for a tensor-parallel group.
//
// With an agreement, `collectives` is proved for every number of members (verify/group/protocol.h)
// unless a hint's turns or values may differ among members. Without one, it is proved if no engine
// ever has two tasks to choose from, and refuted by a run where members choose differently. Other
// obligations are first asked for one member: its run is a run of the group in which all are alike.
// A proof for one member holds for the group under conditions on links and pools
// (docs/proofs.md, Collectives). If these fail, the judge searches for a run, then visits every
// state of a few microbatch counts, for every number of members, or answers unknown. One thread.
#pragma once

#include <memory>
#include <optional>

#include "spec/group.h"
#include "verify/group/conditions.h"
#include "verify/group/every_size.h"
#include "verify/group/parting.h"
#include "verify/judge/judge.h"
#include "verify/ready/counter_queries.h"
#include "verify/verify.h"

namespace ripeline::verify {

class GroupJudge final : public Judge {
 public:
  GroupJudge(const spec::Program& program, const VerifyOptions& options,
             std::unique_ptr<Judge> of_one);

  [[nodiscard]] Finding once() override { return of_one_->once(); }
  [[nodiscard]] Finding collectives() override;
  // Must be asked after collectives().
  [[nodiscard]] Finding deadlock() override { return deadlock_given(of_one_->deadlock()); }
  // A member of a group holds no more than it could hold in a run of a single member.
  [[nodiscard]] MemoryFinding memory() override;

 private:
  [[nodiscard]] Finding deadlock_given(const Finding& of_one);
  [[nodiscard]] Finding of_each(Finding of_one) const;
  [[nodiscard]] std::optional<Doubt> doubt_of_links();
  [[nodiscard]] Finding without_agreement();
  [[nodiscard]] bool never_a_choice();
  [[nodiscard]] bool always_fits(int inbox);
  [[nodiscard]] CounterQueries& queries();
  [[nodiscard]] std::optional<Counterexample> lifted(const Counterexample& of_one,
                                                     spec::Machine::Chooser chooser) const;
  [[nodiscard]] std::optional<Finding> waiting_for_each_other() const;
  [[nodiscard]] std::optional<Finding> searched(bool parting);
  [[nodiscard]] Finding visited(const Doubt& doubt);
  [[nodiscard]] Finding visited_before(int microbatches, const Doubt& doubt) const;
  [[nodiscard]] Finding shown_by(const spec::GroupMachine& group, const EverySize::Result& result,
                                 const Doubt& doubt) const;
  [[nodiscard]] std::optional<Finding> refuted_by(const spec::GroupMachine& group,
                                                  const std::vector<spec::Event>& run) const;

  const spec::Program& program_;
  const VerifyOptions& options_;
  std::unique_ptr<Judge> of_one_;
  Budget budget_;
  GroupConditions conditions_;
  Finding collectives_;
  std::optional<CounterQueries> queries_;
  bool inductive_ = false;
};

}  // namespace ripeline::verify
