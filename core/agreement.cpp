#include "core/agreement.h"

#include <utility>

#include "core/leader.h"
#include "core/rounds.h"

namespace ripeline::core {

Status OneMember::heard(int member, const Ballot& ballot) {
  return refused(Agreeing::Who::nobody, member, ballot, "nothing is agreed on");
}

TaskSet tasks_on(const ProgramFacts& facts, int rank, Engine engine, int microbatches) {
  const LaneSpan own = facts.lanes_of(rank);
  TaskSet tasks;
  tasks.reset(own.first, own.end - own.first, microbatches);
  for (LaneId lane = own.first; lane < own.end; ++lane) {
    if (facts.lanes[static_cast<std::size_t>(lane)].engine != engine) continue;
    for (int m = 0; m < facts.tasks_of(lane, microbatches); ++m) tasks.add({lane, m});
  }
  return tasks;
}

Status refused(Agreeing::Who who, int member, const Ballot& ballot, const std::string& why) {
  return {StatusCode::invalid, (who == Agreeing::Who::replicas ? "replica " : "member ") +
                                   std::to_string(member) + " gave a ballot for round " +
                                   std::to_string(ballot.round) + ", attempt " +
                                   std::to_string(ballot.attempt) + ", and " + why};
}

namespace {

// The agreement of a rank with engines that members govern and engines that replicas govern.
class OfBoth final : public Agreement {
 public:
  OfBoth(const ProgramFacts& facts, const Coordinates& self,
         std::unique_ptr<Agreement> among_members)
      : facts_(facts),
        self_(self),
        among_members_(std::move(among_members)),
        among_replicas_(facts, self, Agreeing::Who::replicas) {}

  void begin_step(int microbatches) override {
    among_members_->begin_step(microbatches);
    among_replicas_.begin_step(microbatches);
  }
  Decision choose(const Arbiter& arbiter, Engine engine, Time now) override {
    return of(engine).choose(arbiter, engine, now);
  }
  void started(Task task) override {
    of(facts_.lanes[static_cast<std::size_t>(task.lane)].engine).started(task);
  }
  [[nodiscard]] int waits_for(Engine engine) const override {
    return is_among_replicas(engine) ? among_replicas_.waits_for(engine)
                                     : among_members_->waits_for(engine);
  }
  Status heard(int member, const Ballot& ballot) override {
    return of(ballot.engine).heard(member, ballot);
  }

 private:
  [[nodiscard]] bool is_among_replicas(Engine engine) const {
    return facts_.agreeing(self_.rank, engine).who == Agreeing::Who::replicas;
  }
  [[nodiscard]] Agreement& of(Engine engine) {
    return is_among_replicas(engine) ? among_replicas_ : *among_members_;
  }

  const ProgramFacts& facts_;
  Coordinates self_;
  std::unique_ptr<Agreement> among_members_;
  Rounds among_replicas_;
};

// The agreement among the members of a rank; null if they need not agree on starts.
std::unique_ptr<Agreement> among_members(const ProgramFacts& facts, const Coordinates& self) {
  switch (facts.members > 1 ? facts.agree : Agree::none) {
    case Agree::intersection:
    case Agree::vote:
      return std::make_unique<Rounds>(facts, self, Agreeing::Who::members);
    case Agree::leader:
      return std::make_unique<Leader>(facts, self);
    case Agree::none:
      break;
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<Agreement> make_agreement(const ProgramFacts& facts, const Coordinates& self) {
  std::unique_ptr<Agreement> members = among_members(facts, self);
  if (facts.reductions.empty()) {
    return members ? std::move(members) : std::make_unique<OneMember>();
  }
  if (!members) return std::make_unique<Rounds>(facts, self, Agreeing::Who::replicas);
  return std::make_unique<OfBoth>(facts, self, std::move(members));
}

}  // namespace ripeline::core
