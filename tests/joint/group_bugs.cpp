#include "tests/joint/group_bugs.h"

namespace ripeline::joint {

using core::Ballot;
using core::Status;

WatchedAgreement::WatchedAgreement(const core::ProgramFacts& facts, const core::Coordinates& self,
                                   GroupBug bug, Gives gives)
    : facts_(facts),
      self_(self),
      bug_(bug),
      gives_(std::move(gives)),
      inner_(core::make_agreement(facts, self)) {}

void WatchedAgreement::begin_step(int microbatches) {
  rounds_ = {};
  given_ = {};
  came_.clear();
  inner_->begin_step(microbatches);
}

core::Agreement::Decision WatchedAgreement::choose(const core::Arbiter& arbiter,
                                                   core::Engine engine, core::Time now) {
  Decision decision = inner_->choose(arbiter, engine, now);
  if (decision.ballot != nullptr) {
    gives_(*decision.ballot);
    Ballot& given = given_[static_cast<std::size_t>(engine)];
    given = *decision.ballot;
    if (bug_ == GroupBug::no_new_attempt) given.attempt = 0;
    const bool is_lost = bug_ == GroupBug::no_second_ballot && given.attempt > 0;
    if (bug_ == GroupBug::no_new_attempt) decision.ballot = &given;
    if (is_lost) decision.ballot = nullptr;
  }
  const core::Agreeing agreeing = facts_.agreeing(self_.rank, engine);
  const bool governed = agreeing.who != core::Agreeing::Who::nobody;
  const bool last = agreeing.number_of(self_) == agreeing.size - 1;
  if (bug_ == GroupBug::own_choice && governed && last && decision.choice.starts()) {
    decision.choice = arbiter.choose(engine, nullptr, now);
  }
  if (bug_ == GroupBug::log_is_a_hint && governed && last && decision.decided &&
      !decision.choice.starts()) {
    decision.choice = arbiter.choose(engine, nullptr, now);
  }
  return decision;
}

void WatchedAgreement::started(core::Task task) {
  ++rounds_[static_cast<std::size_t>(facts_.lanes[static_cast<std::size_t>(task.lane)].engine)];
  inner_->started(task);
}

Status WatchedAgreement::heard(int member, const Ballot& ballot) {
  const std::int32_t round = rounds_[static_cast<std::size_t>(ballot.engine)];
  Ballot changed = ballot;
  if (bug_ == GroupBug::wrong_round && ballot.round != round) {
    const Ballot& given = given_[static_cast<std::size_t>(ballot.engine)];
    changed.round = round;
    changed.attempt = given.round == round ? given.attempt : 0;
    if (inner_->heard(member, changed).ok()) return {};
    changed = ballot;
  }
  if (bug_ == GroupBug::no_new_attempt) {
    changed.attempt = came_[{member, ballot.engine, ballot.round}]++;
  }
  if (bug_ == GroupBug::log_as_it_comes && facts_.agree == core::Agree::leader) {
    changed.round = came_[{member, ballot.engine, 0}]++;
  }
  return inner_->heard(member, changed);
}

}  // namespace ripeline::joint
