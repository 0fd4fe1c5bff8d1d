#include "core/agreement.h"

#include "core/leader.h"
#include "core/rounds.h"

namespace ripeline::core {

Status OneMember::heard(int member, const Ballot& ballot) {
  return refused(member, ballot, "nothing is agreed on");
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

Status refused(int member, const Ballot& ballot, const std::string& why) {
  return {StatusCode::invalid, "member " + std::to_string(member) + " gave a ballot for round " +
                                   std::to_string(ballot.round) + ", attempt " +
                                   std::to_string(ballot.attempt) + ", and " + why};
}

std::unique_ptr<Agreement> make_agreement(const ProgramFacts& facts, const Coordinates& self) {
  switch (facts.members > 1 ? facts.agree : Agree::none) {
    case Agree::intersection:
    case Agree::vote:
      return std::make_unique<Rounds>(facts, self);
    case Agree::leader:
      return std::make_unique<Leader>(facts, self);
    case Agree::none:
      break;
  }
  return std::make_unique<OneMember>();
}

}  // namespace ripeline::core
