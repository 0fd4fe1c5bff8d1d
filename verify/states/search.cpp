#include "verify/states/search.h"

#include <deque>
#include <random>
#include <unordered_set>
#include <utility>

#include "verify/states/state_key.h"

namespace ripeline::verify {

using spec::Event;
using spec::Machine;
using spec::Program;
using TaskState = spec::Machine::TaskState;
using MessageState = spec::Machine::MessageState;
using State = spec::Machine::State;

namespace {

// A state's cost grows with its tasks, so that a budget is a measure of work.
constexpr std::uint64_t kTasksPerState = 64;

// What starts next follows an order from a file, which lists microbatches in any order.
bool binds_microbatches(const Program& program, Machine::Chooser chooser) {
  const spec::Dispatch& dispatch = program.dispatch;
  if (dispatch.in_order) return at(program.orders, dispatch.order).file.has_value();
  return chooser == Machine::Chooser::dispatch && dispatch.hint.rule == spec::Hint::Rule::order &&
         at(program.orders, dispatch.hint.order).file.has_value();
}

std::vector<int> depths(const Program& program) {
  std::vector<int> depth(program.lanes.size(), 0);
  for (std::size_t round = 0; round < program.lanes.size(); ++round) {
    bool changed = false;
    for (const spec::Edge& e : program.edges) {
      if (e.of == spec::Of::before || at(depth, e.consumer) > at(depth, e.producer)) continue;
      at(depth, e.consumer) = at(depth, e.producer) + 1;
      changed = true;
    }
    if (!changed) break;
  }
  return depth;
}

// How each state of a breadth-first search was found: the steps from the first one are walked back.
template <class What>
class Found {
 public:
  static constexpr std::size_t kFirst = 0;

  std::size_t add(const What& what, std::size_t after) {
    steps_.push_back({what, after});
    return steps_.size() - 1;
  }
  [[nodiscard]] std::vector<What> way_to(std::size_t i) const {
    std::vector<What> way;
    for (; i != kFirst; i = steps_[i].after) way.push_back(steps_[i].what);
    std::reverse(way.begin(), way.end());
    return way;
  }

 private:
  struct Step {
    What what;
    std::size_t after;
  };
  std::vector<Step> steps_{{{}, kFirst}};
};

}  // namespace

Search::Search(const Machine& machine, Machine::Chooser chooser, const Goal& goal, bool lowest_only,
               Budget& budget)
    : machine_(machine),
      program_(machine.program()),
      chooser_(chooser),
      goal_(goal),
      lowest_only_(lowest_only && !binds_microbatches(machine.program(), chooser)),
      budget_(budget),
      depth_(depths(program_)) {
  const auto tasks = program_.lanes.size() * static_cast<std::size_t>(machine.microbatches());
  state_cost_ = 1 + tasks / kTasksPerState;
  bounded_ = std::any_of(program_.edges.begin(), program_.edges.end(), [](const spec::Edge& e) {
    return e.inbox >= 0 || e.fifo || e.rendezvous;
  });
  for (int edge = 0; edge < size_of(program_.edges); ++edge) {
    const spec::Edge& e = at(program_.edges, edge);
    if (e.rendezvous) rendezvous_.push_back(edge);
    // The lowest microbatch may be behind others then.
    if (e.fifo && !at(program_.lanes, e.producer).sequential) lowest_only_ = false;
    // Microbatches that some lanes leave out differ from the others.
    if (program_.crosses_shares(e)) lowest_only_ = false;
  }
}

bool Search::producers_ended(const State& state, const Task& task) const {
  for (const int edge : at(program_.lanes, task.lane).edges) {
    const spec::Edge& e = at(program_.edges, edge);
    const auto [first, last] = program_.needed(e, task.microbatch, machine_.microbatches());
    for (int m = first; m < last; ++m) {
      if (state.tasks[index(e.producer, m)] != TaskState::ended) return false;
    }
  }
  return true;
}

// The messages that the task needs.
template <class Do>
void Search::for_each_message(const Task& task, const Do& visit) const {
  for (const int edge : at(program_.lanes, task.lane).edges) {
    const auto [first, last] =
        program_.needed(at(program_.edges, edge), task.microbatch, machine_.microbatches());
    for (int m = first; m < last; ++m) visit(index(edge, m));
  }
}

Event Search::arrival(int edge, int microbatch) const {
  return {.what = Event::Do::arrive,
          .lane = at(program_.edges, edge).consumer,
          .microbatch = microbatch,
          .edge = edge};
}

std::optional<std::vector<Event>> Search::deliveries(const State& state, const Task& task) const {
  std::vector<Event> events;
  State after = state;
  // What its engine hands over must be accepted first.
  const spec::Lane& lane = at(program_.lanes, task.lane);
  for (const int edge : rendezvous_) {
    const spec::Edge& e = at(program_.edges, edge);
    const spec::Lane& producer = at(program_.lanes, e.producer);
    if (producer.rank != lane.rank || producer.engine != lane.engine) continue;
    for (int m = 0; m < machine_.microbatches(); ++m) {
      if (after.messages[index(edge, m)] != MessageState::sent) continue;
      const Event event = arrival(edge, m);
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
      while (after.messages[index(edge, m)] == MessageState::sent) {
        const Event event = arrival(edge, e.fifo ? at(after.queues, edge).front() : m);
        if (!machine_.is_enabled(after, event, chooser_)) return std::nullopt;
        machine_.step(after, event);
        events.push_back(event);
      }
    }
  }
  return events;
}

bool Search::may_move(State& state, const Task& task) const {
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
  const bool may = machine_.is_enabled(state, start, chooser_);
  for (const std::size_t message : delivered) state.messages[message] = MessageState::sent;
  return may;
}

std::vector<Task> Search::moves(State& state) const {
  std::vector<Task> found;
  for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
    for (int m = 0; m < program_.tasks_of(lane, machine_.microbatches()); ++m) {
      const Task task{lane, m};
      if (state.tasks[index(lane, m)] != TaskState::waiting || !producers_ended(state, task)) {
        continue;
      }
      if (may_move(state, task)) found.push_back(task);
      if (lowest_only_) break;
    }
  }
  return found;
}

void Search::move(State& state, const Task& task) const {
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

bool Search::any_may_start(const State& state) const {
  for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
    if (machine_.lowest_startable(state, lane) >= 0) return true;
  }
  return false;
}

std::optional<std::vector<Event>> Search::sticking(const State& state,
                                                   const std::vector<Task>& next) const {
  if (machine_.done(state) || (!bounded_ && !next.empty())) return std::nullopt;
  std::vector<Event> arrivals;
  State after = state;
  for (int edge = 0; edge < size_of(program_.edges); ++edge) {
    const spec::Edge& e = at(program_.edges, edge);
    for (int m = 0; e.inbox < 0 && !e.fifo && m < machine_.microbatches(); ++m) {
      const Event event = arrival(edge, m);
      if (!machine_.is_enabled(after, event, Machine::Chooser::any)) continue;
      arrivals.push_back(event);
      machine_.step(after, event);
    }
  }
  // Whatever else arrives, what may start now may start then.
  if (any_may_start(after) || !fill(after, 0, arrivals)) return std::nullopt;
  return arrivals;
}

// Edge by edge: what arrives in which order makes no difference in the end, but over a fifo edge.
bool Search::fill(State& state, int first_edge, std::vector<Event>& arrivals) const {
  bool full = true;
  for (int edge = 0; edge < size_of(program_.edges); ++edge) {
    for (int m = 0; m < machine_.microbatches(); ++m) {
      const Event event = arrival(edge, m);
      if (state.messages[index(edge, m)] != MessageState::sent ||
          !machine_.is_enabled(state, event, Machine::Chooser::any)) {
        continue;
      }
      full = false;
      if (edge < first_edge || !budget_.spend(state_cost_)) continue;
      State after = state;
      machine_.step(after, event);
      if (any_may_start(after)) continue;
      arrivals.push_back(event);
      if (fill(after, edge, arrivals)) return true;
      arrivals.pop_back();
    }
  }
  return full;
}

bool Search::shows_goal(const State& state, const Task& task) const {
  if (goal_.is_stuck()) return false;
  const auto& acquires = at(program_.lanes, task.lane).acquires;
  return std::any_of(acquires.begin(), acquires.end(), [&](const spec::Acquire& a) {
    const auto& bound = at(goal_.bounds, a.pool);
    return bound && at(state.held, a.pool) + a.amount > *bound;
  });
}

std::string Search::key(const State& state) const {
  StateKey key;
  key.add_ended(state);
  // What a hint that follows an order remembers follows from the tasks.
  if (chooser_ == Machine::Chooser::dispatch) key.add_rounds(state);
  if (bounded_) key.add_queues(state);
  return key.take();
}

std::optional<Run> Search::towards(const Target& target, Microbatches first,
                                   std::uint64_t most_states) {
  struct Frame {
    State state;
    std::vector<Task> moves;
    std::size_t next = 0;
  };
  std::int64_t total = 0;
  for (const std::int64_t c : target.counts) total += c;
  std::unordered_set<std::string> seen;
  std::vector<Frame> path;
  Run run;
  const auto enter = [&](State state) {
    if (seen.size() >= most_states || !seen.insert(key(state)).second) return false;
    if (!budget_.spend(state_cost_)) return false;
    std::vector<Task> next = moves(state);
    if (static_cast<std::int64_t>(run.size()) < total) {
      std::erase_if(next, [&](const Task& t) {
        return at(state.started, t.lane) >= at(target.counts, t.lane);
      });
      std::stable_sort(next.begin(), next.end(), [&](const Task& a, const Task& b) {
        if (a.lane != b.lane || first == Microbatches::low) {
          return at(depth_, a.lane) > at(depth_, b.lane);
        }
        return a.microbatch > b.microbatch;
      });
    }
    path.push_back({std::move(state), std::move(next), 0});
    return true;
  };
  if (!enter(machine_.initial())) return std::nullopt;
  while (!path.empty()) {
    Frame& frame = path.back();
    if (static_cast<std::int64_t>(run.size()) == total) {
      if (goal_.is_stuck() && sticking(frame.state, frame.moves)) return run;
      for (const Task& task : frame.moves) {
        if (task.lane != target.last_lane || !shows_goal(frame.state, task)) continue;
        run.push_back(task);
        return run;
      }
      frame.next = frame.moves.size();
    }
    if (frame.next == frame.moves.size()) {
      path.pop_back();
      if (!run.empty()) run.pop_back();
      continue;
    }
    const Task task = frame.moves[frame.next++];
    State after = frame.state;
    move(after, task);
    run.push_back(task);
    if (!enter(std::move(after))) run.pop_back();
  }
  return std::nullopt;
}

std::optional<Run> Search::walk(int walks) {
  for (int seed = 1; seed <= walks; ++seed) {
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    std::vector<std::mt19937::result_type>
        wish;  // per lane; an even one is for the last microbatch
    for (int lane = 0; lane < size_of(program_.lanes); ++lane) wish.push_back(random());
    const auto pick = [&](const std::vector<Task>& next) {
      if (seed % 4 == 0 || random() % 8 == 0) {
        return next[random() % next.size()];  // a slight bias does no harm
      }
      Task best = next.front();
      for (const Task& task : next) {
        const bool last = at(wish, task.lane) % 2 == 0;
        if (at(wish, task.lane) > at(wish, best.lane) || (task.lane == best.lane && last)) {
          best = task;
        }
      }
      return best;
    };
    State state = machine_.initial();
    Run run;
    while (!machine_.done(state)) {
      if (!budget_.spend(state_cost_)) return std::nullopt;
      const std::vector<Task> next = moves(state);
      if (goal_.is_stuck() && sticking(state, next)) return run;
      if (next.empty()) break;
      run.push_back(pick(next));
      if (shows_goal(state, run.back())) return run;
      move(state, run.back());
    }
  }
  return std::nullopt;
}

Search::Explored Search::explore() {
  Found<Task> found;
  std::unordered_set<std::string> seen;
  std::deque<std::pair<State, std::size_t>> open;
  open.emplace_back(machine_.initial(), found.kFirst);
  seen.insert(key(open.front().first));
  while (!open.empty()) {
    auto [state, i] = std::move(open.front());
    open.pop_front();
    if (!budget_.spend(state_cost_)) return {};
    const std::vector<Task> next = moves(state);
    if (goal_.is_stuck() && sticking(state, next)) return {found.way_to(i), false};
    for (const Task& task : next) {
      if (shows_goal(state, task)) {
        Run run = found.way_to(i);
        run.push_back(task);
        return {std::move(run), false};
      }
      State after = state;
      move(after, task);
      if (!seen.insert(key(after)).second) continue;
      open.emplace_back(std::move(after), found.add(task, i));
    }
  }
  return {std::nullopt, true};
}

bool Search::shows_goal(const Run& run) const {
  State state = machine_.initial();
  for (std::size_t i = 0; i < run.size(); ++i) {
    const bool waits = state.tasks[index(run[i].lane, run[i].microbatch)] == TaskState::waiting;
    if (!waits || !producers_ended(state, run[i]) || !may_move(state, run[i])) return false;
    if (i + 1 == run.size() && shows_goal(state, run[i])) return true;
    move(state, run[i]);
  }
  return goal_.is_stuck() && sticking(state, moves(state)).has_value();
}

Run Search::shortened(Run run) {
  constexpr std::size_t kLongest = 100;  // the work grows with the cube of the length
  if (run.size() > kLongest) return run;
  for (std::size_t i = run.size(); i-- > 0;) {
    if (!budget_.spend(run.size() * state_cost_)) break;
    Run without = run;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    if (shows_goal(without)) run = std::move(without);
  }
  return run;
}

std::optional<std::vector<Event>> Search::events_of(const Run& run) const {
  std::vector<Event> events;
  State state = machine_.initial();
  const auto add = [&](const Event& event) {
    events.push_back(event);
    machine_.step(state, event);
  };
  for (std::size_t i = 0; i < run.size(); ++i) {
    const Task& task = run[i];
    const auto arrivals = deliveries(state, task);
    if (!arrivals) return std::nullopt;
    for (const Event& event : *arrivals) add(event);
    const bool last = i + 1 == run.size() && shows_goal(state, task);
    add({.what = Event::Do::start, .lane = task.lane, .microbatch = task.microbatch});
    if (!last) add({.what = Event::Do::end, .lane = task.lane, .microbatch = task.microbatch});
  }
  if (goal_.is_stuck()) {
    const auto arrivals = sticking(state, moves(state));
    if (!arrivals) return std::nullopt;
    for (const Event& event : *arrivals) add(event);
  }
  if (!replays(machine_, chooser_, goal_, events)) return std::nullopt;
  return events;
}

void Search::run_to_the_end(State& state, std::vector<Event>& events) const {
  const auto add = [&](const Event& event) {
    events.push_back(event);
    machine_.step(state, event);
  };
  for (std::vector<Task> next = moves(state); !next.empty(); next = moves(state)) {
    const auto arrivals = deliveries(state, next.front());
    if (!arrivals) return;
    for (const Event& event : *arrivals) add(event);
    const auto [lane, m] = next.front();
    add({.what = Event::Do::start, .lane = lane, .microbatch = m});
    add({.what = Event::Do::end, .lane = lane, .microbatch = m});
  }
  if (const auto arrivals = sticking(state, {})) {
    for (const Event& event : *arrivals) add(event);
  }
}

std::optional<std::vector<Event>> Search::overfill(const Run& run, int inbox) const {
  std::vector<Event> before;
  State full = machine_.initial();
  for (const Task& task : run) {
    const auto arrivals = deliveries(full, task);
    if (!arrivals) return std::nullopt;
    for (const Event& event : *arrivals) before.push_back(event);
    before.push_back({.what = Event::Do::start, .lane = task.lane, .microbatch = task.microbatch});
    before.push_back({.what = Event::Do::end, .lane = task.lane, .microbatch = task.microbatch});
    for (std::size_t i = before.size() - arrivals->size() - 2; i < before.size(); ++i) {
      machine_.step(full, before[i]);
    }
  }
  std::vector<Event> waiting;  // the last microbatches first: they are taken last
  for (int m = machine_.microbatches(); m-- > 0;) {
    for (int edge = 0; edge < size_of(program_.edges); ++edge) {
      const bool sent = full.messages[index(edge, m)] == MessageState::sent;
      if (at(program_.edges, edge).inbox == inbox && sent) waiting.push_back(arrival(edge, m));
    }
  }
  for (std::size_t left_out = waiting.size(); left_out-- > 0;) {
    std::vector<Event> events = before;
    State state = full;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (i == left_out || !machine_.is_enabled(state, waiting[i], chooser_)) continue;
      events.push_back(waiting[i]);
      machine_.step(state, waiting[i]);
    }
    run_to_the_end(state, events);
    if (replays(machine_, chooser_, goal_, events)) return events;
  }
  return std::nullopt;
}

namespace {

bool breaks_bound(const Machine& machine, const Goal& goal, const State& state,
                  const Event& start) {
  if (goal.is_stuck() || start.what != Event::Do::start) return false;
  const auto& acquires = at(machine.program().lanes, start.lane).acquires;
  return std::any_of(acquires.begin(), acquires.end(), [&](const spec::Acquire& a) {
    const auto& bound = at(goal.bounds, a.pool);
    return bound && at(state.held, a.pool) > *bound;
  });
}

std::string whole_key(const State& state, Machine::Chooser chooser) {
  StateKey key;
  key.add_tasks(state).add_messages(state).add_queues(state);
  if (chooser == Machine::Chooser::dispatch) key.add_rounds(state);
  return key.take();
}

}  // namespace

Interleaved interleave(const Machine& machine, Machine::Chooser chooser, const Goal& goal,
                       Budget& budget) {
  Found<Event> found;
  std::unordered_set<std::string> seen;
  std::deque<std::pair<State, std::size_t>> open;
  open.emplace_back(machine.initial(), found.kFirst);
  seen.insert(whole_key(open.front().first, chooser));
  const std::uint64_t cost = 1 + open.front().first.tasks.size() / kTasksPerState;
  while (!open.empty()) {
    const auto [state, i] = std::move(open.front());
    open.pop_front();
    if (!budget.spend(cost)) return {};
    const std::vector<Event> events = machine.enabled(state, chooser);
    if (goal.is_stuck() && events.empty() && !machine.done(state)) return {found.way_to(i), false};
    for (const Event& event : events) {
      State after = state;
      machine.step(after, event);
      if (!seen.insert(whole_key(after, chooser)).second) continue;
      const std::size_t step = found.add(event, i);
      if (breaks_bound(machine, goal, after, event)) return {found.way_to(step), false};
      open.emplace_back(std::move(after), step);
    }
  }
  return {std::nullopt, true};
}

bool replays(const Machine& machine, Machine::Chooser chooser, const Goal& goal,
             const std::vector<Event>& events) {
  Machine::State state = machine.initial();
  for (const Event& event : events) {
    if (!machine.is_enabled(state, event, chooser)) return false;
    machine.step(state, event);
  }
  if (goal.is_stuck()) return machine.stuck(state);
  return !events.empty() && breaks_bound(machine, goal, state, events.back());
}

}  // namespace ripeline::verify
