#include "simulate/table_arbiter.h"

#include <string>

#include "core/priority.h"
#include "simulate/interpreter.h"

namespace ripeline::simulate {

std::vector<int> sequential_ops(const spec::Program& program) {
  std::vector<int> ops;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (program.ops[i].sequential) ops.push_back(static_cast<int>(i));
  }
  return ops;
}

TableArbiter::TableArbiter(const spec::Program& program, const core::ProgramFacts& facts, int rank)
    : program_(program),
      facts_(facts),
      rank_(rank),
      rows_(facts, rank, std::span<const int>(sequential_ops(program))),
      engines_(facts, rank),
      ledger_(facts, rank) {
  if (const auto rules = patience_of(program)) {
    patience_.emplace(facts, rank, *rules, fillers_of(program));
  }
  if (program.dispatch.keeps >= 0) kept_.emplace(facts, rank);
}

core::Status TableArbiter::begin_step(std::int64_t /*step*/, int microbatches) {
  if (core::Status status = rows_.begin_step(microbatches); !status.ok()) return status;
  engines_.begin_step(microbatches);
  ledger_.begin_step();
  order_.reset(facts_, rows_.first_lane(), rows_.end_lane());
  if (program_.dispatch.binding() >= 0) {
    const spec::Order& order = at(program_.orders, program_.dispatch.binding());
    const auto tasks = spec::expand(program_, order, rank_, microbatches);
    if (!tasks.ok()) {
      return {core::StatusCode::invalid,
              program_.name + ": order " + order.name + ": " + tasks.errors().front().message};
    }
    if (program_.dispatch.in_order) {
      for (const spec::Task& task : tasks.value()) order_.add({task.lane, task.microbatch});
      return {};
    }
    // A hint that follows an order follows this one.
    followed_.reset(rows_.first_lane(), rows_.end_lane());
    for (const spec::Task& task : tasks.value()) followed_.add(task.lane);
  } else if (patience_) {
    followed_ = followed_order(program_, rank_, microbatches);
  }
  hint_.emplace(program_, rank_, microbatches);
  hint_state_ = hint_->initial();
  if (patience_) patience_->begin_step(microbatches, followed_);
  if (kept_) kept_->begin_step(microbatches, followed_);
  return {};
}

void TableArbiter::on_finished(core::Task task, core::Time now) {
  if (patience_) patience_->finished(task, now);
  rows_.finished(task);
  engines_.finished(task);
  static_cast<void>(ledger_.finished(task));  // the executor's own ledger reports
}

void TableArbiter::on_arrived(core::Message message, core::Time now) {
  if (patience_) patience_->arrived(message, now);
  rows_.arrived(message);
}

void TableArbiter::on_taken(core::Message message, core::Time /*now*/) { engines_.taken(message); }

core::Task TableArbiter::next_in_order(core::Engine engine) const {
  return program_.dispatch.in_order ? order_.next(engine) : core::Task{};
}

bool TableArbiter::has_room(core::LaneId lane) const {
  return ledger_.has_room(lane) &&
         (!kept_ || kept_->admits(lane, [this](int pool) { return ledger_.held(pool); }));
}

bool TableArbiter::may_start(core::Task task, core::Engine engine,
                             const core::TaskSet* allowed) const {
  return task.lane >= 0 && engines_.takes(engine, task.lane) && rows_.contains(task) &&
         has_room(task.lane) && (allowed == nullptr || allowed->contains(task));
}

void TableArbiter::ready(core::Engine engine, core::TaskSet& out) const {
  rows_.reset(out);
  if (!engines_.may_take(engine)) return;
  if (program_.dispatch.in_order) {
    const core::Task next = order_.next(engine);
    if (may_start(next, engine, nullptr)) out.add(next);
    return;
  }
  for (core::LaneId lane = rows_.first_lane(); lane < rows_.end_lane(); ++lane) {
    if (engines_.takes(engine, lane) && has_room(lane)) out.row(lane) = rows_.tasks().row(lane);
  }
}

core::Choice TableArbiter::choose(core::Engine engine, const core::TaskSet* allowed,
                                  core::Time now) const {
  if (!engines_.may_take(engine)) return {};
  core::Choice choice{.kind = core::Choice::Kind::start, .task = {}, .until = core::Time{0}};
  if (program_.dispatch.in_order) {
    choice.task = order_.next(engine);
    return may_start(choice.task, engine, allowed) ? choice : core::Choice{};
  }
  // By one pointer, so that std::function takes no memory.
  const struct {
    const TableArbiter& self;
    core::Engine engine;
    const core::TaskSet* allowed;
  } asked{*this, engine, allowed};
  const spec::Task bound = hint_->bound([&asked](const spec::Task& task) {
    return asked.self.may_start({task.lane, task.microbatch}, asked.engine, asked.allowed);
  });
  if (bound.lane >= 0) {
    choice.task = {bound.lane, bound.microbatch};
    return choice;
  }
  const spec::Task greatest = hint_->greatest(
      [&asked](int l, int from) {
        const TableArbiter& self = asked.self;
        if (!self.engines_.takes(asked.engine, l) || !self.has_room(l)) return -1;
        return core::next_common(self.rows_.tasks().row(l),
                                 asked.allowed == nullptr ? nullptr : &asked.allowed->row(l), from);
      },
      [&asked](int pool) { return asked.self.held(pool); });
  if (greatest.lane >= 0) {
    choice.task = {greatest.lane, greatest.microbatch};
    return choice;
  }
  const int lane = hint_->choose(hint_state_, [&asked](int l) {
    return asked.self.engines_.takes(asked.engine, l) && asked.self.has_room(l) &&
           asked.self.rows_.offer(l, asked.allowed).starts();
  });
  choice = rows_.offer(lane, allowed);
  return patience_ ? patience_->choose(choice, awaited(engine), now) : choice;
}

core::LaneId TableArbiter::awaited(core::Engine engine) const {
  const struct {
    const TableArbiter& self;
    core::Engine engine;
  } asked{*this, engine};
  const auto has_room = [&asked](int l) {
    return asked.self.engines_.takes(asked.engine, l) && asked.self.ledger_.has_room(l);
  };
  return hint_->next(hint_state_, has_room, [&asked](int l) {
    return asked.self.engines_.takes(asked.engine, l) && asked.self.has_room(l) &&
           asked.self.rows_.offer(l, nullptr).starts();
  });
}

void TableArbiter::expect(const core::Costs& costs) {
  if (patience_) patience_->expect(costs);
}

void TableArbiter::on_notice(const core::Notice& notice, core::Time now) {
  if (patience_) patience_->noticed(notice, now);
}

void TableArbiter::take_notices(core::Time now, std::vector<core::Notice>& out) {
  if (patience_) patience_->take_notices(now, out);
}

void TableArbiter::started(core::Task task, core::Time now) {
  if (patience_ || kept_) followed_.started(task.lane);
  if (patience_) patience_->started(task, now);
  if (kept_) kept_->started();
  rows_.started(task);
  engines_.started(task);
  static_cast<void>(ledger_.started(task));  // the executor's own ledger reports
  if (hint_) {
    hint_->started(hint_state_, task.lane);
  } else {
    order_.started(task.lane);
  }
}

}  // namespace ripeline::simulate
