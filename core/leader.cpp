#include "core/leader.h"

namespace ripeline::core {

Leader::Leader(const ProgramFacts& facts, const Coordinates& self) : facts_(facts), self_(self) {
  for (const Engine engine : kAllEngines) {
    if (facts.agreeing(self.rank, engine).who != Agreeing::Who::members) continue;
    table(engine) = std::make_unique<Table>();
    table(engine)->own.engine = engine;
  }
}

void Leader::begin_step(int microbatches) {
  const LaneSpan own = facts_.lanes_of(self_.rank);
  ready_.reset(own.first, own.end - own.first, microbatches);
  for (const std::unique_ptr<Table>& table : tables_) {
    if (!table) continue;
    table->round = 0;
    table->own.tasks = ready_;
    table->left = tasks_on(facts_, self_.rank, table->own.engine, microbatches);
    table->log.assign(table->left.count(), Task{});
  }
}

Agreement::Decision Leader::choose(const Arbiter& arbiter, Engine engine, Time now) {
  Table* of = table(engine).get();
  return of != nullptr && self_.member > 0 ? follow(*of, arbiter) : lead(of, arbiter, engine, now);
}

Agreement::Decision Leader::lead(Table* of, const Arbiter& arbiter, Engine engine, Time now) {
  Decision decision{.choice = arbiter.choose(engine, nullptr, now)};
  if (of == nullptr || !decision.choice.starts()) return decision;
  of->own.round = of->round;
  of->own.tasks.clear();
  of->own.tasks.add(decision.choice.task);
  decision.ballot = &of->own;
  return decision;
}

Agreement::Decision Leader::follow(Table& table, const Arbiter& arbiter) {
  const auto round = static_cast<std::size_t>(table.round);
  if (round == table.log.size()) return {};
  const Task entry = table.log[round];
  if (entry.lane < 0) return {.decided = false};
  arbiter.ready(table.own.engine, ready_);
  if (!ready_.contains(entry)) return {};
  return {.choice = {.kind = Choice::Kind::start, .task = entry}};
}

void Leader::started(Task task) {
  const std::unique_ptr<Table>& of =
      table(facts_.lanes[static_cast<std::size_t>(task.lane)].engine);
  if (of) ++of->round;
}

int Leader::waits_for(Engine engine) const {
  const std::unique_ptr<Table>& of = tables_[static_cast<std::size_t>(engine)];
  return of && self_.member > 0 ? 0 : -1;
}

Status Leader::heard(int member, const Ballot& ballot) {
  const auto wrong = [&](const char* why) {
    return refused(Agreeing::Who::members, member, ballot, why);
  };
  if (member != 0 || self_.member == 0) return wrong("only member 0 gives one, to the others");
  const std::unique_ptr<Table>& of = table(ballot.engine);
  if (!of) return wrong("its engine is not governed");
  const auto round = static_cast<std::size_t>(ballot.round);
  if (ballot.round < 0 || round >= of->log.size() || ballot.attempt != 0 ||
      of->log[round].lane >= 0) {
    return wrong("the log has no such entry, or has it already");
  }
  if (!of->left.has_all(ballot.tasks) || ballot.tasks.count() != 1) {
    return wrong("it is not one task of the engine that is not in the log");
  }
  of->log[round] = ballot.tasks.first();
  of->left.remove(of->log[round]);
  return {};
}

}  // namespace ripeline::core
