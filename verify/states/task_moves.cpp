#include "verify/states/task_moves.h"

#include <algorithm>

#include "verify/states/state_key.h"

namespace ripeline::verify {

using spec::Event;
using spec::Machine;
using spec::Program;
using TaskState = spec::Machine::TaskState;
using MessageState = spec::Machine::MessageState;

namespace {

constexpr std::uint64_t kTasksPerUnit = 64;

// True if the next start follows an order from a file, which may list microbatches in any order, or
// a priority, which may prefer any microbatch.
bool binds_microbatches(const Program& program, Machine::Chooser chooser) {
  const spec::Dispatch& dispatch = program.dispatch;
  if (dispatch.in_order) return at(program.orders, dispatch.order).file.has_value();
  const bool by_priority = dispatch.hint.rule == spec::Hint::Rule::priority;
  if (chooser == Machine::Chooser::dispatch && by_priority) return true;
  return chooser == Machine::Chooser::dispatch && dispatch.hint.rule == spec::Hint::Rule::order &&
         at(program.orders, dispatch.hint.order).file.has_value();
}

}  // namespace

std::uint64_t cost_of_state(const Machine& machine) {
  const auto tasks =
      machine.program().lanes.size() * static_cast<std::size_t>(machine.microbatches());
  return 1 + tasks / kTasksPerUnit;
}

TaskMoves::TaskMoves(const Machine& machine, Machine::Chooser chooser, bool lowest_only)
    : machine_(machine),
      program_(machine.program()),
      chooser_(chooser),
      lowest_only_(lowest_only && !binds_microbatches(machine.program(), chooser)),
      cost_(cost_of_state(machine)),
      bounded_(std::any_of(program_.edges.begin(), program_.edges.end(), [](const spec::Edge& e) {
        return e.inbox >= 0 || e.fifo || e.rendezvous;
      })) {
  for (int edge = 0; edge < size_of(program_.edges); ++edge) {
    const spec::Edge& e = at(program_.edges, edge);
    if (e.rendezvous) rendezvous_.push_back(edge);
    // A fifo edge whose producer is not sequential may deliver the lowest microbatch after others.
    if (e.fifo && !at(program_.lanes, e.producer).sequential) lowest_only_ = false;
    // Microbatches that some lanes leave out differ from others, so all must be considered.
    if (program_.crosses_shares(e)) lowest_only_ = false;
  }
}

// True if the task has not started, and the tasks that it needs have ended.
bool TaskMoves::is_next(const State& state, const Task& task) const {
  if (machine_.has_started(state, task.lane, task.microbatch)) return false;
  for (const int edge : at(program_.lanes, task.lane).edges) {
    const spec::Edge& e = at(program_.edges, edge);
    const auto [first, last] = program_.needed(e, task.microbatch, machine_.microbatches());
    for (int m = first; m < last; ++m) {
      if (state.tasks[index(e.producer, m)] != TaskState::ended) return false;
    }
  }
  return true;
}

// Visits the messages that the task needs.
template <class Do>
void TaskMoves::for_each_message(const Task& task, const Do& visit) const {
  for (const int edge : at(program_.lanes, task.lane).edges) {
    const auto [first, last] =
        program_.needed(at(program_.edges, edge), task.microbatch, machine_.microbatches());
    for (int m = first; m < last; ++m) visit(index(edge, m));
  }
}

std::optional<std::vector<Event>> TaskMoves::deliveries(const State& state,
                                                        const Task& task) const {
  std::vector<Event> events;
  State after = state;
  // A message that the task's engine hands over by rendezvous must be accepted first.
  const spec::Lane& lane = at(program_.lanes, task.lane);
  for (const int edge : rendezvous_) {
    const spec::Edge& e = at(program_.edges, edge);
    const spec::Lane& producer = at(program_.lanes, e.producer);
    if (producer.rank != lane.rank || producer.engine != lane.engine) continue;
    for (int m = 0; m < machine_.microbatches(); ++m) {
      if (!is_on_its_way(after, edge, m)) continue;
      const Event event = arrival_of(program_, edge, m);
      if (!machine_.is_enabled(after, event, chooser_)) return std::nullopt;
      machine_.step(after, event);
      events.push_back(event);
    }
  }
  for (const int edge : lane.edges) {
    const spec::Edge& e = at(program_.edges, edge);
    if (!program_.crosses_ranks(e)) continue;
    const auto [first, last] = program_.needed(e, task.microbatch, machine_.microbatches());
    for (int m = first; m < last; ++m) {
      while (is_on_its_way(after, edge, m)) {
        const Event event = arrival_of(program_, edge, e.fifo ? at(after.queues, edge).front() : m);
        if (!machine_.is_enabled(after, event, chooser_)) return std::nullopt;
        machine_.step(after, event);
        events.push_back(event);
      }
    }
  }
  return events;
}

bool TaskMoves::may_make(State& state, const Task& task) const {
  return is_next(state, task) && may_start_after_arrivals(state, task);
}

bool TaskMoves::may_start_after_arrivals(State& state, const Task& task) const {
  const Event start{.what = Event::Do::start, .lane = task.lane, .microbatch = task.microbatch};
  if (bounded_) {
    const auto arrivals = deliveries(state, task);
    if (!arrivals) return false;
    State after = state;
    for (const Event& event : *arrivals) machine_.step(after, event);
    return machine_.is_enabled(after, start, chooser_);
  }
  std::vector<std::size_t> delivered;
  for_each_message(task, [&](std::size_t message) {
    if (state.messages[message] != MessageState::sent) return;
    state.messages[message] = MessageState::arrived;
    delivered.push_back(message);
  });
  // A task chosen by the dispatch may always start; may_start() is asked first since it is quicker.
  const bool may =
      machine_.may_start(state, task.lane, task.microbatch) &&
      (chooser_ == Machine::Chooser::any || machine_.is_enabled(state, start, chooser_));
  for (const std::size_t message : delivered) state.messages[message] = MessageState::sent;
  return may;
}

std::vector<Task> TaskMoves::next(State& state) const {
  std::vector<Task> found;
  for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
    for (int m = 0; m < program_.tasks_of(lane, machine_.microbatches()); ++m) {
      const Task task{lane, m};
      if (!is_next(state, task)) continue;
      if (may_start_after_arrivals(state, task)) found.push_back(task);
      if (lowest_only_) break;
    }
  }
  return found;
}

void TaskMoves::make(State& state, const Task& task) const {
  if (bounded_) {
    const auto arrivals = deliveries(state, task);
    for (const Event& event : *arrivals) machine_.step(state, event);
  } else {
    for_each_message(task, [&](std::size_t message) {
      if (state.messages[message] == MessageState::sent) {
        state.messages[message] = MessageState::arrived;
      }
    });
  }
  machine_.step(state,
                {.what = Event::Do::start, .lane = task.lane, .microbatch = task.microbatch});
  machine_.step(state, {.what = Event::Do::end, .lane = task.lane, .microbatch = task.microbatch});
}

bool TaskMoves::any_may_start(const State& state) const {
  for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
    if (machine_.lowest_startable(state, lane) >= 0) return true;
  }
  return false;
}

std::optional<std::vector<Event>> TaskMoves::sticking(const State& state,
                                                      const std::vector<Task>& next,
                                                      Budget& budget) const {
  if (machine_.done(state) || (!bounded_ && !next.empty())) return std::nullopt;
  std::vector<Event> arrivals;
  State after = state;
  for (int edge = 0; edge < size_of(program_.edges); ++edge) {
    const spec::Edge& e = at(program_.edges, edge);
    for (int m = 0; e.inbox < 0 && !e.fifo && m < machine_.microbatches(); ++m) {
      const Event event = arrival_of(program_, edge, m);
      if (!machine_.is_enabled(after, event, Machine::Chooser::any)) continue;
      arrivals.push_back(event);
      machine_.step(after, event);
    }
  }
  // If some task may start now, further arrivals do not prevent this, so the state does not stick.
  if (any_may_start(after) || !fill(after, 0, arrivals, budget)) return std::nullopt;
  return arrivals;
}

// Tries edge by edge, since the order of arrivals has no effect except over a fifo edge.
bool TaskMoves::fill(State& state, int first_edge, std::vector<Event>& arrivals,
                     Budget& budget) const {
  bool full = true;
  for (int edge = 0; edge < size_of(program_.edges); ++edge) {
    for (int m = 0; m < machine_.microbatches(); ++m) {
      const Event event = arrival_of(program_, edge, m);
      if (!is_on_its_way(state, edge, m) ||
          !machine_.is_enabled(state, event, Machine::Chooser::any)) {
        continue;
      }
      full = false;
      if (edge < first_edge || !budget.spend(cost_)) continue;
      State after = state;
      machine_.step(after, event);
      if (any_may_start(after)) continue;
      arrivals.push_back(event);
      if (fill(after, edge, arrivals, budget)) return true;
      arrivals.pop_back();
    }
  }
  return full;
}

std::string TaskMoves::key(const State& state) const {
  StateKey key;
  key.add_ended(state);
  // A hint's position in its order follows from the tasks that have ended; its turns do not.
  if (chooser_ == Machine::Chooser::dispatch) key.add_rounds(state);
  if (bounded_) key.add_queues(state);
  return key.take();
}

}  // namespace ripeline::verify
