#include "spec/machine.h"

#include <cassert>
#include <utility>

namespace ripeline::spec {
namespace {

constexpr int kEngines = 3;

std::size_t engine_index(int rank, Engine engine) {
  return static_cast<std::size_t>(rank) * kEngines + static_cast<std::size_t>(engine);
}

}  // namespace

Machine::Machine(const Program& program, int microbatches)
    : program_(&program), microbatches_(microbatches) {
  for (int rank = 0; rank < program.ranks; ++rank) {
    hints_.emplace_back(program, rank, microbatches);
  }
  if (!program.dispatch.in_order) return;
  const Order& order = Program::at(program.orders, program.dispatch.order);
  for (int rank = 0; rank < program.ranks; ++rank) {
    const Result<std::vector<int>> lanes = expand(program, order, rank, microbatches);
    assert(lanes.ok());
    std::vector<int> next(program.lanes.size(), 0);
    std::vector<std::pair<int, int>>& tasks = orders_.emplace_back();
    for (const int lane : lanes.value()) {
      tasks.emplace_back(lane, next[static_cast<std::size_t>(lane)]++);
    }
  }
}

Machine::State Machine::initial() const {
  const auto m = static_cast<std::size_t>(microbatches_);
  const auto ranks = static_cast<std::size_t>(program_->ranks);
  State state;
  state.tasks.assign(program_->lanes.size() * m, TaskState::waiting);
  state.messages.assign(program_->edges.size() * m, MessageState::none);
  state.held.assign(program_->pools.size(), 0);
  state.running.assign(ranks * kEngines, -1);
  state.position.assign(ranks, 0);
  for (const HintPolicy& hint : hints_) state.hints.push_back(hint.initial());
  state.started.assign(program_->lanes.size(), 0);
  return state;
}

bool Machine::met(const State& state, int edge, int microbatch) const {
  const Edge& e = Program::at(program_->edges, edge);
  return program_->crosses_ranks(e)
             ? state.messages[index(edge, microbatch)] == MessageState::arrived
             : state.tasks[index(e.producer, microbatch)] == TaskState::ended;
}

std::pair<int, int> Machine::next_in_order(const State& state, int rank) const {
  const auto& tasks = Program::at(orders_, rank);
  const auto position = static_cast<std::size_t>(Program::at(state.position, rank));
  return position < tasks.size() ? tasks[position] : std::pair{-1, -1};
}

std::vector<Block> Machine::blocks(const State& state, int lane, int microbatch) const {
  std::vector<Block> found;
  const Lane& l = Program::at(program_->lanes, lane);
  if (state.tasks[index(lane, microbatch)] != TaskState::waiting) {
    return {{.why = Block::Why::started}};
  }
  if (program_->dispatch.in_order && next_in_order(state, l.rank) != std::pair{lane, microbatch}) {
    found.push_back({.why = Block::Why::order});
  }
  for (const int edge : l.edges) {
    if (!met(state, edge, microbatch)) found.push_back({.why = Block::Why::need, .edge = edge});
  }
  if (l.sequential && microbatch > 0 &&
      state.tasks[index(lane, microbatch - 1)] != TaskState::ended) {
    found.push_back({.why = Block::Why::sequence});
  }
  if (state.running[engine_index(l.rank, l.engine)] >= 0) {
    found.push_back({.why = Block::Why::engine});
  }
  for (const Acquire& a : l.acquires) {
    const auto& capacity = Program::at(program_->pools, a.pool).capacity;
    if (capacity && Program::at(state.held, a.pool) + a.amount + a.leaving > *capacity) {
      found.push_back({.why = Block::Why::room, .pool = a.pool});
    }
  }
  return found;
}

bool Machine::may_start(const State& state, int lane, int microbatch) const {
  return blocks(state, lane, microbatch).empty();
}

int Machine::lowest_startable(const State& state, int lane, const Allowed& allowed) const {
  for (int m = 0; m < microbatches_; ++m) {
    if (may_start(state, lane, m) && (!allowed || allowed(lane, m))) return m;
  }
  return -1;
}

std::pair<int, int> Machine::choice(const State& state, int rank, Engine engine,
                                    const Allowed& allowed) const {
  const auto may_start_lane = [&](int lane) {
    return Program::at(program_->lanes, lane).engine == engine &&
           lowest_startable(state, lane, allowed) >= 0;
  };
  int lane = -1;
  if (program_->dispatch.in_order) {
    lane = next_in_order(state, rank).first;
    if (lane >= 0 && !may_start_lane(lane)) lane = -1;
  } else {
    lane = Program::at(hints_, rank).choose(Program::at(state.hints, rank), may_start_lane);
  }
  return lane < 0 ? std::pair{-1, -1} : std::pair{lane, lowest_startable(state, lane, allowed)};
}

std::vector<Event> Machine::enabled(const State& state, Chooser chooser) const {
  std::vector<Event> events;
  const int lanes = static_cast<int>(program_->lanes.size());
  for (int lane = 0; lane < lanes; ++lane) {
    for (int m = 0; m < microbatches_; ++m) {
      if (state.tasks[index(lane, m)] == TaskState::running) {
        events.push_back({.what = Event::Do::end, .lane = lane, .microbatch = m});
      } else if (chooser == Chooser::any && may_start(state, lane, m)) {
        events.push_back({.what = Event::Do::start, .lane = lane, .microbatch = m});
      }
    }
  }
  for (int edge = 0; edge < static_cast<int>(program_->edges.size()); ++edge) {
    for (int m = 0; m < microbatches_; ++m) {
      if (state.messages[index(edge, m)] != MessageState::sent) continue;
      const int consumer = Program::at(program_->edges, edge).consumer;
      events.push_back(
          {.what = Event::Do::arrive, .lane = consumer, .microbatch = m, .edge = edge});
    }
  }
  if (chooser == Chooser::dispatch) {
    for (int rank = 0; rank < program_->ranks; ++rank) {
      for (const Engine engine : {Engine::compute, Engine::copy_out, Engine::copy_in}) {
        const auto [lane, m] = choice(state, rank, engine);
        if (lane >= 0) {
          events.push_back({.what = Event::Do::start, .lane = lane, .microbatch = m});
        }
      }
    }
  }
  return events;
}

bool Machine::is_enabled(const State& state, const Event& event, Chooser chooser) const {
  const bool is_task = event.lane >= 0 && event.lane < static_cast<int>(program_->lanes.size()) &&
                       event.microbatch >= 0 && event.microbatch < microbatches_;
  if (!is_task) return false;
  switch (event.what) {
    case Event::Do::start: {
      if (chooser == Chooser::any) return may_start(state, event.lane, event.microbatch);
      const Lane& l = Program::at(program_->lanes, event.lane);
      return choice(state, l.rank, l.engine) == std::pair{event.lane, event.microbatch};
    }
    case Event::Do::end:
      return state.tasks[index(event.lane, event.microbatch)] == TaskState::running;
    case Event::Do::arrive:
      return event.edge >= 0 && event.edge < static_cast<int>(program_->edges.size()) &&
             Program::at(program_->edges, event.edge).consumer == event.lane &&
             state.messages[index(event.edge, event.microbatch)] == MessageState::sent;
  }
  return false;
}

void Machine::step(State& state, const Event& event) const {
  const Lane& l = Program::at(program_->lanes, event.lane);
  const std::size_t task = index(event.lane, event.microbatch);
  switch (event.what) {
    case Event::Do::start:
      state.tasks[task] = TaskState::running;
      state.running[engine_index(l.rank, l.engine)] = event.lane;
      for (const Acquire& a : l.acquires) state.held[static_cast<std::size_t>(a.pool)] += a.amount;
      ++state.started[static_cast<std::size_t>(event.lane)];
      ++state.position[static_cast<std::size_t>(l.rank)];
      Program::at(hints_, l.rank)
          .started(state.hints[static_cast<std::size_t>(l.rank)], event.lane);
      break;
    case Event::Do::end:
      state.tasks[task] = TaskState::ended;
      state.running[engine_index(l.rank, l.engine)] = -1;
      for (const Release& r : l.releases) state.held[static_cast<std::size_t>(r.pool)] -= r.amount;
      for (const int edge : l.feeds) {
        if (program_->crosses_ranks(Program::at(program_->edges, edge))) {
          state.messages[index(edge, event.microbatch)] = MessageState::sent;
        }
      }
      ++state.ended;
      break;
    case Event::Do::arrive:
      state.messages[index(event.edge, event.microbatch)] = MessageState::arrived;
      break;
  }
}

bool Machine::done(const State& state) const {
  return state.ended == static_cast<std::int64_t>(state.tasks.size());
}

bool Machine::stuck(const State& state) const {
  return !done(state) && enabled(state, Chooser::any).empty();
}

std::string Machine::describe(const Event& event) const {
  const std::string task = program_->task_name(event.lane, event.microbatch);
  switch (event.what) {
    case Event::Do::start:
      return "start " + task;
    case Event::Do::end:
      return "end " + task;
    case Event::Do::arrive: {
      const int producer = Program::at(program_->edges, event.edge).producer;
      return "arrive " + program_->task_name(producer, event.microbatch) + " at " + task;
    }
  }
  return {};
}

std::string Machine::describe(const State& state, int lane, int microbatch,
                              const Block& block) const {
  const Lane& l = Program::at(program_->lanes, lane);
  switch (block.why) {
    case Block::Why::started:
      return "it has started already";
    case Block::Why::need:
      return program_->task_name(Program::at(program_->edges, block.edge).producer, microbatch);
    case Block::Why::sequence:
      return program_->task_name(lane, microbatch - 1) + ", the one before it";
    case Block::Why::engine:
      return "the engine, which runs " +
             program_->lane_name(state.running[engine_index(l.rank, l.engine)]);
    case Block::Why::room: {
      const Pool& pool = Program::at(program_->pools, block.pool);
      return "room in " + program_->pool_name(block.pool) + ": " +
             std::to_string(Program::at(state.held, block.pool)) + " of " +
             std::to_string(*pool.capacity) + " held";
    }
    case Block::Why::order: {
      const auto [next_lane, next_m] = next_in_order(state, l.rank);
      if (next_lane < 0) return "a place in the order, which has ended";
      return program_->task_name(next_lane, next_m) + ", which the order puts first";
    }
  }
  return {};
}

}  // namespace ripeline::spec
