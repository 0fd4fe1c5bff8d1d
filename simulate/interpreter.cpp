#include "simulate/interpreter.h"

#include <algorithm>

namespace ripeline::simulate {
namespace {

core::OpKind to_core(spec::OpKind kind) {
  switch (kind) {
    case spec::OpKind::plain:
      return core::OpKind::plain;
    case spec::OpKind::forward:
      return core::OpKind::forward;
    case spec::OpKind::backward:
      return core::OpKind::backward;
    case spec::OpKind::backward_input:
      return core::OpKind::backward_input;
    case spec::OpKind::backward_weight:
      return core::OpKind::backward_weight;
    case spec::OpKind::reduce:
      return core::OpKind::reduce;
    case spec::OpKind::offload:
      return core::OpKind::offload;
    case spec::OpKind::reload:
      return core::OpKind::reload;
    case spec::OpKind::recompute:
      return core::OpKind::recompute;
    case spec::OpKind::user:
      return core::OpKind::user;
  }
  return core::OpKind::plain;
}

core::Engine to_core(spec::Engine engine) {
  switch (engine) {
    case spec::Engine::compute:
      return core::Engine::compute;
    case spec::Engine::copy_out:
      return core::Engine::copy_out;
    case spec::Engine::copy_in:
      return core::Engine::copy_in;
  }
  return core::Engine::compute;
}

core::Of to_core(spec::Of of) {
  switch (of) {
    case spec::Of::same:
      return core::Of::same;
    case spec::Of::before:
      return core::Of::before;
    case spec::Of::all:
      return core::Of::all;
  }
  return core::Of::same;
}

spec::Engine to_spec(core::Engine engine) {
  switch (engine) {
    case core::Engine::compute:
      return spec::Engine::compute;
    case core::Engine::copy_out:
      return spec::Engine::copy_out;
    case core::Engine::copy_in:
      return spec::Engine::copy_in;
  }
  return spec::Engine::compute;
}

core::OwnedFacts facts_of(const spec::Program& program,
                          const std::vector<std::optional<std::int64_t>>& peaks, bool proved) {
  std::vector<core::OpFacts> ops;
  for (const spec::Op& op : program.ops) ops.push_back({op.name, to_core(op.kind)});
  std::vector<core::LaneFacts> lanes;
  std::vector<core::UseFacts> uses;
  for (std::size_t i = 0; i < program.lanes.size(); ++i) {
    const spec::Lane& l = program.lanes[i];
    lanes.push_back({l.op,
                     l.stage,
                     l.rank,
                     l.chunk,
                     to_core(l.engine),
                     l.once,
                     {l.share.period, l.share.remainders}});
    for (const spec::Use& use : spec::uses_of(l)) {
      uses.push_back({static_cast<int>(i), use.pool, use.acquires, use.releases, use.leaving});
    }
  }
  std::vector<core::EdgeFacts> edges;
  for (const spec::Edge& e : program.edges) {
    edges.push_back({e.producer, e.consumer, to_core(e.of), e.inbox, e.fifo, e.rendezvous,
                     program.crosses_shares(e)});
  }
  std::vector<core::PairFacts> pairs;
  for (const spec::Pair& pair : program.pairs) pairs.push_back({pair.first, pair.second});
  std::vector<core::InboxFacts> inboxes;
  for (const spec::Inbox& inbox : program.inboxes) {
    inboxes.push_back({inbox.channel, inbox.rank, inbox.stage, inbox.slots});
  }
  std::vector<core::PoolFacts> pools;
  for (std::size_t i = 0; i < program.pools.size(); ++i) {
    const spec::Pool& p = program.pools[i];
    const spec::Resource& resource = spec::Program::at(program.resources, p.resource);
    const std::int64_t bound = i < peaks.size() ? peaks[i].value_or(-1) : -1;
    pools.push_back(
        {resource.name, resource.unit, p.rank, p.stage, bound, p.capacity.value_or(-1)});
  }
  return core::OwnedFacts({.core_version = core::kCoreVersion,
                           .name = program.name,
                           .hash = program.hash,
                           .proved = proved,
                           .ranks = program.ranks,
                           .stages = static_cast<int>(program.stages.size()),
                           .min_microbatches = program.microbatches.min,
                           .max_microbatches = program.microbatches.max.value_or(0),
                           .ops = ops,
                           .lanes = lanes,
                           .edges = edges,
                           .pools = pools,
                           .uses = uses,
                           .inboxes = inboxes,
                           .inputs = program.inputs == spec::InputOrder::pyramid
                                         ? core::InputOrder::pyramid
                                         : core::InputOrder::natural,
                           .pairs = pairs});
}

}  // namespace

std::optional<core::PatienceRules> patience_of(const spec::Program& program) {
  const std::optional<spec::Patience>& written = program.dispatch.hint.patience;
  if (program.dispatch.in_order || !written) return std::nullopt;
  return core::PatienceRules{.patience = written->patience.value(),
                             .yield = written->yield.value(),
                             .forecasts = written->forecasts,
                             .learns = written->learns};
}

core::FollowedOrder followed_order(const spec::Program& program, int rank, int microbatches) {
  core::FollowedOrder order;
  order.reset(program.first_lane(rank), program.first_lane(rank + 1));
  const spec::Order& of = spec::Program::at(program.orders, program.dispatch.hint.order);
  const auto tasks = spec::expand(program, of, rank, microbatches);
  if (!tasks.ok()) return order;  // a hint may be bad: then nothing is next
  for (const spec::OrderTask& task : tasks.value()) order.add(task.lane);
  return order;
}

FactsStorage::FactsStorage(const spec::Program& program,
                           const std::vector<std::optional<std::int64_t>>& peaks)
    : owned_(facts_of(program, peaks, !peaks.empty())) {}

// Proved, also without pools.
FactsStorage::FactsStorage(const verify::ProvedProgram& proved)
    : owned_(facts_of(proved.program(), proved.peaks(), true)) {}

InterpretedArbiter::InterpretedArbiter(const spec::Program& program,
                                       const core::ProgramFacts& facts, int rank)
    : program_(program), facts_(facts), rank_(rank) {
  if (const auto rules = patience_of(program)) {
    patience_.emplace(facts, rank, *rules, program.dispatch.hint.fill);
  }
}

core::Status InterpretedArbiter::begin_step(std::int64_t /*step*/, int microbatches) {
  if (!program_.microbatches.contains(microbatches)) {
    return {core::StatusCode::invalid,
            program_.name + ": " + std::to_string(microbatches) + " microbatches are out of range"};
  }
  if (program_.dispatch.binding() >= 0) {
    const spec::Order& order = spec::Program::at(program_.orders, program_.dispatch.binding());
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
  if (patience_) begin_patience(microbatches);
  return {};
}

void InterpretedArbiter::restore(const Moment& moment) {
  state_ = moment.state;
  followed_ = moment.followed;
  if (moment.patience) patience_.emplace(*moment.patience);
}

void InterpretedArbiter::begin_patience(int microbatches) {
  followed_ = followed_order(program_, rank_, microbatches);
  patience_->begin_step(microbatches, followed_);
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
                          .lane = spec::Program::at(program_.edges, message.edge).consumer,
                          .microbatch = message.microbatch,
                          .edge = message.edge});
}

// For the machine it arrives where its consumer is.
void InterpretedArbiter::on_taken(core::Message message, core::Time /*now*/) { arrive(message); }

core::Task InterpretedArbiter::next_in_order(core::Engine engine) const {
  if (!machine_ || !program_.dispatch.in_order) return {};
  const auto [lane, m] = machine_->next_in_order(state_, rank_, to_spec(engine));
  return {lane, m};
}

void InterpretedArbiter::ready(core::Engine engine, core::TaskSet& out) const {
  const int first = program_.first_lane(rank_);
  const int end = program_.first_lane(rank_ + 1);
  const int microbatches = machine_ ? machine_->microbatches() : 0;
  out.reset(first, end - first, microbatches);
  for (int lane = first; lane < end; ++lane) {
    if (spec::Program::at(program_.lanes, lane).engine != to_spec(engine)) continue;
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
  const auto [lane, m] = machine_->choice(state_, rank_, to_spec(engine), filter);
  if (lane < 0) return {};
  const core::Choice ready{
      .kind = core::Choice::Kind::start, .task = {lane, m}, .until = core::Time{0}};
  if (!patience_) return ready;
  return patience_->choose(ready, machine_->awaited(state_, rank_, to_spec(engine)), now);
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
