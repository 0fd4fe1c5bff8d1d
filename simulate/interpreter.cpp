#include "simulate/interpreter.h"

#include <algorithm>

namespace ripeline::simulate {
namespace {

// The order that the hint follows, in the form that core's patience reads.
core::FollowedOrder followed_order(const spec::Program& program, const core::ProgramFacts& facts,
                                   int rank, int microbatches) {
  core::FollowedOrder order;
  const spec::Order& its = at(program.orders, program.dispatch.hint.order);
  const auto tasks = spec::expand(program, its, rank, microbatches);
  if (tasks.ok()) {
    order.reset(facts.lanes_of(rank), tasks.value());
  } else {
    order.reset(facts.lanes_of(rank));  // if the hint follows a bad order, no task is next
  }
  return order;
}

}  // namespace

InterpretedArbiter::InterpretedArbiter(const spec::Program& program,
                                       const core::ProgramFacts& facts, int rank)
    : program_(program), facts_(facts), rank_(rank) {
  if (facts.dispatch.patience) patience_.emplace(facts, rank);
}

core::Status InterpretedArbiter::begin_step(std::int64_t /*step*/, int microbatches) {
  if (!program_.microbatches.contains(microbatches)) {
    return {core::StatusCode::invalid,
            program_.name + ": " + std::to_string(microbatches) + " microbatches are out of range"};
  }
  if (program_.dispatch.binding() >= 0) {
    const spec::Order& order = at(program_.orders, program_.dispatch.binding());
    for (int r = 0; r < program_.ranks; ++r) {
      const auto tasks = spec::expand(program_, order, r, microbatches);
      if (!tasks.ok()) {
        return {core::StatusCode::invalid,
                program_.name + ": order " + order.name + ": " + tasks.errors().front().message};
      }
    }
  }
  machine_.emplace(program_, microbatches);
  state_ = machine_->initial();
  if (patience_) {
    followed_ = followed_order(program_, facts_, rank_, microbatches);
    patience_->begin_step(microbatches, followed_);
  }
  return {};
}

void InterpretedArbiter::restore(const Moment& moment) {
  state_ = moment.state;
  followed_ = moment.followed;
  if (moment.patience) patience_.emplace(*moment.patience);
}

void InterpretedArbiter::on_finished(core::Task task, core::Time now) {
  if (patience_) patience_->finished(task, now);
  machine_->step(
      state_,
      {.what = spec::Event::Do::end, .lane = task.lane, .microbatch = task.microbatch, .edge = -1});
}

void InterpretedArbiter::on_arrived(core::Message message, core::Time now) {
  if (patience_) patience_->arrived(message, now);
  arrive(message);
}

void InterpretedArbiter::arrive(core::Message message) {
  machine_->step(state_, {.what = spec::Event::Do::arrive,
                          .lane = at(program_.edges, message.edge).consumer,
                          .microbatch = message.microbatch,
                          .edge = message.edge});
}

// In the machine, a message counts as arrived at its consumer once it has been taken.
void InterpretedArbiter::on_taken(core::Message message, core::Time /*now*/) { arrive(message); }

core::Task InterpretedArbiter::next_in_order(core::Engine engine) const {
  if (!machine_ || !program_.dispatch.in_order) return {};
  const auto [lane, m] = machine_->next_in_order(state_, rank_, engine);
  return {lane, m};
}

void InterpretedArbiter::ready(core::Engine engine, core::TaskSet& out) const {
  const int first = program_.first_lane(rank_);
  const int end = program_.first_lane(rank_ + 1);
  const int microbatches = machine_ ? machine_->microbatches() : 0;
  out.reset(first, end - first, microbatches);
  for (int lane = first; lane < end; ++lane) {
    if (at(program_.lanes, lane).engine != engine) continue;
    for (int m = 0; m < program_.tasks_of(lane, microbatches); ++m) {
      if (machine_->may_start(state_, lane, m)) out.add({lane, m});
    }
  }
}

core::Choice InterpretedArbiter::choose(core::Engine engine, const core::TaskSet* allowed,
                                        core::Time now) const {
  if (!machine_) return {};
  spec::Machine::Allowed filter;
  if (allowed != nullptr) {
    filter = [allowed](int lane, int m) { return allowed->contains({lane, m}); };
  }
  const auto [lane, m] = machine_->choice(state_, rank_, engine, filter);
  if (lane < 0) return {};
  const core::Choice ready{
      .kind = core::Choice::Kind::start, .task = {lane, m}, .until = core::Time{0}};
  if (!patience_) return ready;
  return patience_->choose(ready, machine_->awaited(state_, rank_, engine), now);
}

void InterpretedArbiter::expect(const core::Costs& costs) {
  if (patience_) patience_->expect(costs);
}

void InterpretedArbiter::on_notice(const core::Notice& notice, core::Time now) {
  if (patience_) patience_->noticed(notice, now);
}

void InterpretedArbiter::take_notices(core::Time now, std::vector<core::Notice>& out) {
  if (patience_) patience_->take_notices(now, out);
}

void InterpretedArbiter::started(core::Task task, core::Time now) {
  if (patience_) {
    followed_.started(task.lane);
    patience_->started(task, now);
  }
  machine_->step(state_, {.what = spec::Event::Do::start,
                          .lane = task.lane,
                          .microbatch = task.microbatch,
                          .edge = -1});
}

}  // namespace ripeline::simulate
