#include "spec/machine.h"

#include <algorithm>
#include <cassert>

#include "core/vocabulary/greatest.h"
#include "spec/hand_over.h"
#include "spec/hint.h"
#include "spec/long_work.h"

namespace ripeline::spec {

Event arrival_of(const Program& program, int edge, int microbatch) {
  return {.what = Event::Do::arrive,
          .lane = at(program.edges, edge).consumer,
          .microbatch = microbatch,
          .edge = edge};
}

Machine::Machine(const Program& program, int microbatches)
    : program_(&program), microbatches_(microbatches), guards_(guards_of(program)) {
  for (int rank = 0; rank < program.ranks; ++rank) {
    hints_.push_back(hint_of(program, rank));
    if (program.dispatch.hint.rule == core::HintRule::priority) {
      priorities_.emplace_back(program, rank);
    }
  }
  if (program.dispatch.hint.rule == core::HintRule::order) {
    follow(at(program.orders, program.dispatch.hint.order));
  }
  for (int lane = 0; lane < static_cast<int>(program.lanes.size()); ++lane) {
    tasks_ += program.tasks_of(lane, microbatches);
  }
  if (program.dispatch.binding() < 0) return;
  const Order& order = at(program.orders, program.dispatch.binding());
  for (int rank = 0; rank < program.ranks; ++rank) {
    const Result<std::vector<Task>> tasks = expand(program, order, rank, microbatches);
    assert(tasks.ok());
    const std::size_t first = orders_.size();
    orders_.resize(first + kEngines);
    for (const Task& task : tasks.value()) {
      const auto engine = static_cast<std::size_t>(at(program.lanes, task.lane).engine);
      orders_[first + engine].push_back(task);
    }
  }
}

// If the order has no meaning for this count, the hint is ignored and only the ties decide.
void Machine::follow(const Order& order) {
  places_.resize(program_->lanes.size());
  bound_.resize(static_cast<std::size_t>(program_->ranks));
  for (int rank = 0; rank < program_->ranks; ++rank) {
    const Result<std::vector<Task>> tasks = expand(*program_, order, rank, microbatches_);
    if (!tasks.ok()) continue;
    int place = 0;
    for (const Task& task : tasks.value()) {
      if (order.file) {
        bound_[static_cast<std::size_t>(rank)].push_back(task);
      } else {
        places_[static_cast<std::size_t>(task.lane)].push_back(place++);
      }
    }
  }
}

int Machine::next_place(const State& state, int lane) const {
  const std::vector<int>& places = at(places_, lane);
  const auto next = static_cast<std::size_t>(at(state.started, lane));
  return next < places.size() ? places[next] : core::kNoPlace;
}

Machine::State Machine::initial() const {
  const auto m = static_cast<std::size_t>(microbatches_);
  const auto ranks = static_cast<std::size_t>(program_->ranks);
  State state;
  state.tasks.assign(program_->lanes.size() * m, TaskState::waiting);
  state.messages.assign(program_->edges.size() * m, MessageState::none);
  state.held.assign(program_->pools.size(), 0);
  state.taken.assign(program_->inboxes.size(), 0);
  state.queues.resize(program_->edges.size());
  state.running.assign(ranks * kEngines, {});
  state.handing.assign(ranks * kEngines, 0);
  state.position.assign(ranks * kEngines, 0);
  state.rounds.assign(ranks, 0);
  state.started.assign(program_->lanes.size(), 0);
  return state;
}

int Machine::first_missing(const State& state, int edge, int microbatch) const {
  const Edge& e = at(program_->edges, edge);
  const bool message = program_->crosses_ranks(e);
  const auto [first, last] = program_->needed(e, microbatch, microbatches_);
  for (int m = first; m < last; ++m) {
    const bool here = message ? state.messages[index(edge, m)] == MessageState::arrived
                              : state.tasks[index(e.producer, m)] == TaskState::ended;
    if (!here) return m;
  }
  return -1;
}

bool Machine::met(const State& state, int edge, int microbatch) const {
  return first_missing(state, edge, microbatch) < 0;
}

Task Machine::next_in_order(const State& state, int rank, Engine engine) const {
  const std::size_t at = engine_index(rank, engine);
  const auto& tasks = orders_[at];
  const auto position = static_cast<std::size_t>(state.position[at]);
  return position < tasks.size() ? tasks[position] : Task{};
}

bool Machine::engine_takes(const State& state, int lane) const {
  const Lane& l = at(program_->lanes, lane);
  const std::size_t engine = engine_index(l.rank, l.engine);
  if (state.handing[engine] > 0) return false;
  const RunningLanes& running = state.running[engine];
  if (running.lane < 0) return true;
  const std::vector<int>& beside = at(guards_, lane).beside;
  return running.other < 0 && std::find(beside.begin(), beside.end(), running.lane) != beside.end();
}

bool Machine::has_room(const State& state, int lane) const {
  const std::vector<RoomGuard>& rooms = at(guards_, lane).rooms;
  return std::all_of(rooms.begin(), rooms.end(), [&](const RoomGuard& guard) {
    return guard.room.fits(at(state.held, guard.pool));
  });
}

Machine::CrowdedPool Machine::crowded_by(const State& state, int lane) const {
  const Lane& own = at(program_->lanes, lane);
  std::vector<std::int64_t> held = state.held;
  const auto run = [&](const Lane& l) {
    for (const Acquire& a : l.acquires) held[static_cast<std::size_t>(a.pool)] += a.amount;
    for (const Release& r : l.releases) held[static_cast<std::size_t>(r.pool)] -= r.amount;
  };
  run(own);
  for (const Task& task : orders_[engine_index(own.rank, Engine::compute)]) {
    const int started = at(state.started, task.lane);
    if (task.microbatch < started) continue;
    if (task.lane == lane && task.microbatch == started) break;
    if (task.microbatch >= program_->tasks_of(task.lane, microbatches_)) continue;
    for (const RoomGuard& guard : at(guards_, task.lane).rooms) {
      if (!guard.room.fits(at(held, guard.pool))) return {task.lane, guard.pool};
    }
    run(at(program_->lanes, task.lane));
  }
  return {};
}

std::vector<Block> Machine::blocks(const State& state, int lane, int microbatch) const {
  std::vector<Block> found;
  const Lane& l = at(program_->lanes, lane);
  const Guards& guards = at(guards_, lane);
  if (state.tasks[index(lane, microbatch)] != TaskState::waiting) {
    return {{.why = Block::Why::started}};
  }
  if (guards.in_turn && next_in_order(state, l.rank, l.engine) != Task{lane, microbatch}) {
    found.push_back({.why = Block::Why::order});
  }
  for (const int edge : guards.needs) {
    if (!met(state, edge, microbatch)) found.push_back({.why = Block::Why::need, .edge = edge});
  }
  if (guards.in_sequence && microbatch > 0 &&
      state.tasks[index(lane, microbatch - 1)] != TaskState::ended) {
    found.push_back({.why = Block::Why::sequence});
  }
  if (!engine_takes(state, lane)) found.push_back({.why = Block::Why::engine});
  for (const RoomGuard& guard : guards.rooms) {
    if (!guard.room.fits(at(state.held, guard.pool))) {
      found.push_back({.why = Block::Why::room, .pool = guard.pool});
    }
  }
  if (guards.keeps_room && found.empty()) {
    const CrowdedPool crowded = crowded_by(state, lane);
    if (crowded.lane >= 0) {
      found.push_back({.why = Block::Why::kept, .pool = crowded.pool, .lane = crowded.lane});
    }
  }
  return found;
}

// Cheap checks come first: they fail for most tasks that may not start, so no reasons are listed.
bool Machine::may_start(const State& state, int lane, int microbatch) const {
  return !has_started(state, lane, microbatch) && engine_takes(state, lane) &&
         has_room(state, lane) && blocks(state, lane, microbatch).empty();
}

int Machine::lowest_startable(const State& state, int lane, const Allowed& allowed) const {
  if (!engine_takes(state, lane) || !has_room(state, lane)) return -1;
  for (int m = 0; m < program_->tasks_of(lane, microbatches_); ++m) {
    if (may_start(state, lane, m) && (!allowed || allowed(lane, m))) return m;
  }
  return -1;
}

Task Machine::choice(const State& state, int rank, Engine engine, const Allowed& allowed) const {
  const auto lowest = [&](int lane) {
    const bool is_on = at(program_->lanes, lane).engine == engine;
    return is_on ? lowest_startable(state, lane, allowed) : -1;
  };
  const auto may_start_lane = [&](int lane) { return lowest(lane) >= 0; };
  const auto of_lane = [&](int lane) { return lane < 0 ? Task{} : Task{lane, lowest(lane)}; };
  const auto may_start_task = [&](const Task& task) {
    return at(program_->lanes, task.lane).engine == engine &&
           task.microbatch < program_->tasks_of(task.lane, microbatches_) &&
           may_start(state, task.lane, task.microbatch) &&
           (!allowed || allowed(task.lane, task.microbatch));
  };
  if (program_->dispatch.in_order) {
    const Task next = next_in_order(state, rank, engine);
    return next.lane >= 0 && may_start_task(next) ? next : Task{};
  }
  const core::Hint& hint = at(hints_, rank);
  if (hint.rule() == core::HintRule::order) {
    const std::vector<Task>& bound = at(bound_, rank);
    const auto first = std::find_if(bound.begin(), bound.end(), may_start_task);
    if (first != bound.end()) return *first;
    return of_lane(
        hint.followed([&](int lane) { return next_place(state, lane); }, may_start_lane));
  }
  if (hint.rule() == core::HintRule::priority) {
    const Task best = core::greatest(
        hint.valued(),
        [&](int lane, int from) {
          const int count = program_->tasks_of(lane, microbatches_);
          while (from < count && !may_start_task({lane, from})) ++from;
          return from < count ? from : -1;
        },
        [&](const Task& task) {
          return at(priorities_, rank).value(task, microbatches_, [&](int pool) {
            return at(state.held, pool);
          });
        });
    if (best.lane >= 0) return best;
  }
  const auto tried = hint.tried(at(state.rounds, rank));
  const auto first = std::find_if(tried.begin(), tried.end(), may_start_lane);
  return first == tried.end() ? Task{} : of_lane(*first);
}

int Machine::awaited(const State& state, int rank, Engine engine) const {
  const auto on_engine = [&](int lane) { return at(program_->lanes, lane).engine == engine; };
  const auto may_have = [&](int lane) {
    return on_engine(lane) && engine_takes(state, lane) && has_room(state, lane);
  };
  const auto may_start_lane = [&](int lane) {
    return on_engine(lane) && lowest_startable(state, lane) >= 0;
  };
  return at(hints_, rank)
      .awaited([&](int lane) { return next_place(state, lane); }, may_have, may_start_lane);
}

std::vector<Event> Machine::enabled(const State& state, Chooser chooser) const {
  std::vector<Event> events;
  const int lanes = static_cast<int>(program_->lanes.size());
  for (int lane = 0; lane < lanes; ++lane) {
    for (int m = 0; m < program_->tasks_of(lane, microbatches_); ++m) {
      if (state.tasks[index(lane, m)] == TaskState::running) {
        events.push_back({.what = Event::Do::end, .lane = lane, .microbatch = m});
      } else if (chooser == Chooser::any && may_start(state, lane, m)) {
        events.push_back({.what = Event::Do::start, .lane = lane, .microbatch = m});
      }
    }
  }
  for (int edge = 0; edge < static_cast<int>(program_->edges.size()); ++edge) {
    for (int m = 0; m < microbatches_; ++m) {
      if (!may_arrive(state, edge, m)) continue;
      events.push_back(arrival_of(*program_, edge, m));
    }
  }
  if (chooser == Chooser::dispatch) {
    for (int rank = 0; rank < program_->ranks; ++rank) {
      for (const Engine engine : kAllEngines) {
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
  if (event.what != Event::Do::arrive &&
      event.microbatch >= program_->tasks_of(event.lane, microbatches_)) {
    return false;
  }
  switch (event.what) {
    case Event::Do::start: {
      if (chooser == Chooser::any) return may_start(state, event.lane, event.microbatch);
      const Lane& l = at(program_->lanes, event.lane);
      return choice(state, l.rank, l.engine) == Task{event.lane, event.microbatch};
    }
    case Event::Do::end:
      return state.tasks[index(event.lane, event.microbatch)] == TaskState::running;
    case Event::Do::arrive:
      return event.edge >= 0 && event.edge < static_cast<int>(program_->edges.size()) &&
             at(program_->edges, event.edge).consumer == event.lane &&
             may_arrive(state, event.edge, event.microbatch);
    case Event::Do::agree:
      break;  // a single member agrees on nothing
  }
  return false;
}

bool Machine::may_arrive(const State& state, int edge, int microbatch) const {
  return state.messages[index(edge, microbatch)] == MessageState::sent &&
         !delay(state, edge, microbatch);
}

std::optional<Delay> Machine::delay(const State& state, int edge, int microbatch) const {
  if (state.messages[index(edge, microbatch)] != MessageState::sent) return std::nullopt;
  const Edge& e = at(program_->edges, edge);
  if (e.rendezvous) {
    const Lane& consumer = at(program_->lanes, e.consumer);
    // The first task of the lane, if all its tasks need the message.
    const Task wanted{e.consumer, program_->needed_by(e, microbatch, microbatches_)};
    if (next_in_order(state, consumer.rank, consumer.engine) != wanted) {
      return Delay{.why = Delay::Why::rendezvous};
    }
  }
  if (e.fifo) {
    const int front = at(state.queues, edge).front();
    if (front != microbatch) return Delay{.why = Delay::Why::overtaken, .microbatch = front};
  }
  if (e.inbox >= 0 && at(state.taken, e.inbox) >= at(program_->inboxes, e.inbox).slots) {
    return Delay{.why = Delay::Why::slot};
  }
  return std::nullopt;
}

void Machine::start(State& state, int lane, int microbatch) const {
  const Lane& l = at(program_->lanes, lane);
  const std::size_t engine = engine_index(l.rank, l.engine);
  int& started = state.started[static_cast<std::size_t>(lane)];
  for (const int edge : l.edges) {
    const Edge& e = at(program_->edges, edge);
    if (e.inbox < 0 || (e.of == Of::all && started > 0)) continue;
    const auto [first, last] = program_->needed(e, microbatch, microbatches_);
    state.taken[static_cast<std::size_t>(e.inbox)] -= last - first;
  }
  state.tasks[index(lane, microbatch)] = TaskState::running;
  RunningLanes& running = state.running[engine];
  running = {.lane = std::max(lane, running.lane), .other = std::min(lane, running.lane)};
  for (const Acquire& a : l.acquires) state.held[static_cast<std::size_t>(a.pool)] += a.amount;
  ++started;
  ++state.position[engine];
  int& round = state.rounds[static_cast<std::size_t>(l.rank)];
  round = at(hints_, l.rank).next_round(round, lane);
}

void Machine::end(State& state, int lane, int microbatch) const {
  const Lane& l = at(program_->lanes, lane);
  const std::size_t engine = engine_index(l.rank, l.engine);
  state.tasks[index(lane, microbatch)] = TaskState::ended;
  RunningLanes& running = state.running[engine];
  running = {.lane = running.lane == lane ? running.other : running.lane};
  for (const Release& r : l.releases) state.held[static_cast<std::size_t>(r.pool)] -= r.amount;
  for (const int edge : l.feeds) {
    const Edge& e = at(program_->edges, edge);
    if (!program_->crosses_ranks(e) || program_->needed_by(e, microbatch, microbatches_) < 0) {
      continue;
    }
    state.messages[index(edge, microbatch)] = MessageState::sent;
    if (e.fifo) state.queues[static_cast<std::size_t>(edge)].push_back(microbatch);
    if (e.rendezvous) ++state.handing[engine];
  }
  ++state.ended;
}

void Machine::arrive(State& state, int edge, int microbatch) const {
  const Edge& e = at(program_->edges, edge);
  MessageState& message = state.messages[index(edge, microbatch)];
  if (e.fifo) std::erase(state.queues[static_cast<std::size_t>(edge)], microbatch);
  if (e.inbox >= 0) ++state.taken[static_cast<std::size_t>(e.inbox)];
  if (e.rendezvous && message == MessageState::sent) {
    const Lane& producer = at(program_->lanes, e.producer);
    --state.handing[engine_index(producer.rank, producer.engine)];
  }
  message = MessageState::arrived;
}

void Machine::step(State& state, const Event& event) const {
  stop_point();
  switch (event.what) {
    case Event::Do::start:
      start(state, event.lane, event.microbatch);
      break;
    case Event::Do::end:
      end(state, event.lane, event.microbatch);
      break;
    case Event::Do::arrive:
      arrive(state, event.edge, event.microbatch);
      break;
    case Event::Do::agree:
      break;
  }
}

bool Machine::done(const State& state) const { return state.ended == tasks_; }

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
      const Edge& e = at(program_->edges, event.edge);
      return "arrive " + program_->task_name(e.producer, event.microbatch) + " at " +
             program_->task_name(event.lane,
                                 program_->needed_by(e, event.microbatch, microbatches_));
    }
    case Event::Do::agree:
      return "agree on " + task;
  }
  return {};
}

std::string Machine::describe(const State& state, int lane, int microbatch,
                              const Block& block) const {
  const Lane& l = at(program_->lanes, lane);
  switch (block.why) {
    case Block::Why::started:
      return "it has started already";
    case Block::Why::need: {
      const Edge& e = at(program_->edges, block.edge);
      const int missing = first_missing(state, block.edge, microbatch);
      const std::string task = program_->task_name(e.producer, missing);
      if (!program_->crosses_ranks(e)) return task;
      const std::optional<Delay> why = delay(state, block.edge, missing);
      return why ? task + ", whose message waits for " + describe(block.edge, missing, *why) : task;
    }
    case Block::Why::sequence:
      return program_->task_name(lane, microbatch - 1) + ", the one before it";
    case Block::Why::engine: {
      const auto [running, other] = state.running[engine_index(l.rank, l.engine)];
      if (running < 0) {
        const HandOver held = *handed_over(*this, state, l.rank, l.engine);
        return "the engine, which hands over " +
               program_->task_name(held.sender.lane, held.sender.microbatch) + " to " +
               program_->task_name(held.taker.lane, held.taker.microbatch);
      }
      return "the engine, which runs " + program_->lane_name(running) +
             (other < 0 ? "" : " and " + program_->lane_name(other));
    }
    case Block::Why::room: {
      const Pool& pool = at(program_->pools, block.pool);
      return "room in " + program_->pool_name(block.pool) + ": " +
             std::to_string(at(state.held, block.pool)) + " of " + std::to_string(*pool.capacity) +
             " held";
    }
    case Block::Why::kept: {
      const std::string& order = at(program_->orders, program_->dispatch.keeps).name;
      return "room that is kept in " + program_->pool_name(block.pool) + " for " +
             program_->lane_name(block.lane) + ", which order " + order + " puts first";
    }
    case Block::Why::order: {
      const auto [next_lane, next_m] = next_in_order(state, l.rank, l.engine);
      if (next_lane < 0) return "a place in the order, which has ended";
      return program_->task_name(next_lane, next_m) + ", which the order puts first";
    }
  }
  return {};
}

std::string Machine::describe(int edge, int microbatch, const Delay& why) const {
  const Edge& e = at(program_->edges, edge);
  switch (why.why) {
    case Delay::Why::rendezvous: {
      const int wanted = program_->needed_by(e, microbatch, microbatches_);
      return "its rendezvous: rank " + std::to_string(at(program_->lanes, e.consumer).rank) +
             " is before " + program_->task_name(e.consumer, wanted) + " in its order";
    }
    case Delay::Why::overtaken:
      return program_->task_name(e.producer, why.microbatch) + ", sent before it";
    case Delay::Why::slot: {
      const std::string slots = std::to_string(at(program_->inboxes, e.inbox).slots);
      return "a slot: " + program_->inbox_name(e.inbox) + ", " + slots + " of " + slots + " taken";
    }
  }
  return {};
}

}  // namespace ripeline::spec
