#include "core/rounds.h"

#include <iterator>
#include <utility>

namespace ripeline::core {
namespace {

bool is_of(const Ballot& ballot, std::int32_t round, std::int32_t attempt) {
  return ballot.round == round && ballot.attempt == attempt;
}

}  // namespace

Rounds::Rounds(const ProgramFacts& facts, const Coordinates& self, Agreeing::Who who)
    : facts_(facts), self_(self), who_(who) {
  for (const Engine engine : kAllEngines) {
    const Agreeing agreeing = facts.agreeing(self.rank, engine);
    if (agreeing.who != who) continue;
    table(engine) = std::make_unique<Table>();
    table(engine)->own.engine = engine;
    table(engine)->members.resize(static_cast<std::size_t>(agreeing.size));
  }
}

void Rounds::begin_step(int microbatches) {
  const LaneSpan own = facts_.lanes_of(self_.rank);
  word_.reset(own.first, own.end - own.first, microbatches);
  for (const std::unique_ptr<Table>& table : tables_) {
    if (!table) continue;
    table->tasks = tasks_on(facts_, self_.rank, table->own.engine, microbatches);
    table->rounds = static_cast<std::int32_t>(table->tasks.count());
    table->own.round = -1;
    table->own.tasks = word_;
    table->common = word_;
    for (Member& member : table->members) {
      member.ahead = false;
      member.next.tasks = word_;
    }
    begin_attempt(*table, 0, 0);
  }
}

void Rounds::begin_attempt(Table& table, std::int32_t round, std::int32_t attempt) {
  table.round = round;
  table.attempt = attempt;
  table.cast = false;
  table.ballots = 0;
  for (Member& member : table.members) member.here = false;
}

void Rounds::count(Table& table, const TaskSet& tasks) {
  if (table.ballots++ == 0) {
    table.common = tasks;
  } else {
    table.common.keep_common(tasks);
  }
}

Status Rounds::take_waiting(Table& table) {
  for (std::size_t i = 0; i < table.members.size(); ++i) {
    Member& member = table.members[i];
    if (!member.ahead || member.here) continue;
    if (!is_of(member.next, table.round, table.attempt)) {
      if (table.cast) continue;  // a ballot of the next attempt or round overtook it
      return refused(who_, static_cast<int>(i), member.next, "the others are at another one");
    }
    member.ahead = false;
    member.here = true;
    count(table, member.next.tasks);
  }
  return {};
}

bool Rounds::cast(Table& table, const Arbiter& arbiter, Time now) {
  const Engine engine = table.own.engine;
  if (of_replicas() || facts_.agree == Agree::intersection) {
    arbiter.ready(engine, word_);
  } else {
    word_.clear();
    const Choice choice = arbiter.choose(engine, nullptr, now);
    if (choice.starts()) word_.add(choice.task);
  }
  if (word_.empty()) return false;
  // A ballot with the same tasks is sent again only if another process began the attempt.
  const bool is_said = table.own.round == table.round && table.own.tasks == word_;
  if (is_said && table.ballots == 0) return false;
  table.own.round = table.round;
  table.own.attempt = table.attempt;
  table.own.tasks = word_;
  table.cast = true;
  count(table, word_);
  return true;
}

Agreement::Decision Rounds::choose(const Arbiter& arbiter, Engine engine, Time now) {
  if (!table(engine)) return {.choice = arbiter.choose(engine, nullptr, now)};
  Table& table = *this->table(engine);
  Decision decision{.decided = false};
  for (;;) {
    if (failure_ = take_waiting(table); !failure_.ok()) {
      decision.failure = &failure_;
      return decision;
    }
    if (!table.cast) {
      // Returns one ballot at a time, since the previous one has not been sent yet.
      if (decision.ballot != nullptr || !cast(table, arbiter, now)) return decision;
      decision.ballot = &table.own;
    }
    if (table.ballots < std::ssize(table.members)) return decision;
    if (!table.common.empty()) break;
    begin_attempt(table, table.round, table.attempt + 1);
  }
  decision.decided = true;
  decision.choice = of_replicas()
                        ? Choice{.kind = Choice::Kind::start, .task = first_reduction(table.common)}
                        : arbiter.choose(engine, &table.common, now);
  return decision;
}

Task Rounds::first_reduction(const TaskSet& common) const {
  const LaneSpan own = facts_.lanes_of(self_.rank);
  Task first;
  for (LaneId lane = own.first; lane < own.end; ++lane) {
    const int microbatch = common.row(lane).lowest();
    if (microbatch < 0) continue;
    const auto place = [&](LaneId id) {
      const LaneFacts& of = facts_.lanes[static_cast<std::size_t>(id)];
      return std::pair(of.op, -of.stage);
    };
    if (first.lane < 0 || place(lane) < place(first.lane)) first = {lane, microbatch};
  }
  return first;
}

void Rounds::started(Task task) {
  const std::unique_ptr<Table>& of =
      table(facts_.lanes[static_cast<std::size_t>(task.lane)].engine);
  if (!of) return;
  begin_attempt(*of, of->round + 1, 0);
}

int Rounds::waits_for(Engine engine) const {
  const std::unique_ptr<Table>& of = tables_[static_cast<std::size_t>(engine)];
  if (!of || !of->cast) return -1;
  const int self = facts_.agreeing(self_.rank, engine).number_of(self_);
  for (std::size_t member = 0; member < of->members.size(); ++member) {
    const int number = static_cast<int>(member);
    if (number != self && !of->members[member].here) return number;
  }
  return -1;
}

Status Rounds::heard(int member, const Ballot& ballot) {
  const auto wrong = [&](const std::string& why) { return refused(who_, member, ballot, why); };
  if (!table(ballot.engine)) return wrong("its engine is not governed");
  const Agreeing agreeing = facts_.agreeing(self_.rank, ballot.engine);
  if (member < 0 || member >= agreeing.size || member == agreeing.number_of(self_)) {
    return wrong(of_replicas() ? "no other replica has that number"
                               : "no other member of the rank has that number");
  }
  Table& table = *this->table(ballot.engine);
  if (ballot.tasks.empty() || !table.tasks.has_all(ballot.tasks)) {
    return wrong("its tasks are not of the engine");
  }
  Member& of = table.members[static_cast<std::size_t>(member)];
  const bool came = of.ahead && is_of(of.next, ballot.round, ballot.attempt);
  if (is_of(ballot, table.round, table.attempt) && !of.here && !came &&
      table.round < table.rounds) {
    of.here = true;
    count(table, ballot.tasks);
    return {};
  }
  // No process can leave an attempt before it has this process's ballot.
  const bool follows =
      table.cast && (is_of(ballot, table.round, table.attempt + 1) ||
                     (is_of(ballot, table.round + 1, 0) && ballot.round < table.rounds));
  if (!follows || of.ahead) {
    return wrong("this one is at round " + std::to_string(table.round) + ", attempt " +
                 std::to_string(table.attempt));
  }
  of.ahead = true;
  of.next = ballot;
  return {};
}

}  // namespace ripeline::core
