#include "verify/states/search.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

namespace ripeline::verify {

using spec::Event;
using spec::Machine;
using spec::Program;
using State = spec::Machine::State;

namespace {

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

// The states in which nothing runs, as a Space.
class AtRest {
 public:
  using State = Machine::State;
  using Move = Task;

  AtRest(const TaskMoves& moves, const Goal& goal, Budget& budget)
      : moves_(moves), goal_(goal), budget_(budget) {}

  [[nodiscard]] std::string key(const State& state) const { return moves_.key(state); }
  [[nodiscard]] Visit<Task> visit(State& state, std::size_t /*number*/) {
    std::vector<Task> next = moves_.next(state);
    if (sticks(state, next)) return {.found = true};
    for (const Task& task : next) {
      if (breaks(state, task)) return {.found = true, .through = task};
    }
    return {.moves = std::move(next)};
  }
  [[nodiscard]] State after(const State& state, const Task& task) const {
    State after = state;
    moves_.make(after, task);
    return after;
  }

 protected:
  [[nodiscard]] bool sticks(const State& state, const std::vector<Task>& next) {
    return goal_.is_stuck() && moves_.sticking(state, next, budget_);
  }
  [[nodiscard]] bool breaks(const State& state, const Task& task) const {
    return breaks_bound(goal_, at(moves_.machine().program().lanes, task.lane), state);
  }
  [[nodiscard]] const TaskMoves& task_moves() const { return moves_; }

 private:
  const TaskMoves& moves_;
  const Goal& goal_;
  Budget& budget_;
};

// The states in which nothing runs and no lane is beyond the target's counts.
class TowardsTarget : public AtRest {
 public:
  TowardsTarget(const TaskMoves& moves, const Goal& goal, Budget& budget, const Target& target,
                const std::vector<int>& depth, Search::Microbatches first)
      : AtRest(moves, goal, budget),
        target_(target),
        total_(std::accumulate(target.counts.begin(), target.counts.end(), std::int64_t{0})),
        depth_(depth),
        first_(first) {}

  [[nodiscard]] Visit<Task> visit(State& state, std::size_t /*number*/) {
    std::vector<Task> next = task_moves().next(state);
    if (state.ended == total_) {
      if (sticks(state, next)) return {.found = true};
      for (const Task& task : next) {
        if (task.lane != target_.last_lane || !breaks(state, task)) continue;
        return {.found = true, .through = task};
      }
      return {};
    }
    std::erase_if(next, [&](const Task& t) {
      return at(state.started, t.lane) >= at(target_.counts, t.lane);
    });
    std::stable_sort(next.begin(), next.end(), [&](const Task& a, const Task& b) {
      if (a.lane != b.lane || first_ == Search::Microbatches::low) {
        return at(depth_, a.lane) > at(depth_, b.lane);
      }
      return a.microbatch > b.microbatch;
    });
    return {.moves = std::move(next)};
  }

 private:
  const Target& target_;
  std::int64_t total_;  // the number of tasks in the target
  const std::vector<int>& depth_;
  Search::Microbatches first_;
};

}  // namespace

Search::Search(const Machine& machine, Machine::Chooser chooser, const Goal& goal, bool lowest_only,
               Budget& budget)
    : machine_(machine),
      program_(machine.program()),
      moves_(machine, chooser, lowest_only),
      goal_(goal),
      budget_(budget),
      depth_(depths(program_)) {}

std::optional<Run> Search::towards(const Target& target, Microbatches first,
                                   std::size_t most_states) {
  TowardsTarget states(moves_, goal_, budget_, target, depth_, first);
  return depth_first(states, {machine_.initial()}, budget_,
                     {.visit = moves_.cost(), .most_states = most_states})
      .way;
}

std::optional<Run> Search::walk(int walks) {
  for (int seed = 1; seed <= walks; ++seed) {
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    std::vector<std::mt19937::result_type>
        wish;  // per lane; if even, the lane's last microbatch is first
    for (int lane = 0; lane < size_of(program_.lanes); ++lane) wish.push_back(random());
    const auto pick = [&](const std::vector<Task>& next) {
      if (seed % 4 == 0 || random() % 8 == 0) {
        return next[random() % next.size()];  // the slight bias does no harm
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
      if (!budget_.spend(moves_.cost())) return std::nullopt;
      const std::vector<Task> next = moves_.next(state);
      if (goal_.is_stuck() && moves_.sticking(state, next, budget_)) return run;
      if (next.empty()) break;
      run.push_back(pick(next));
      if (breaks_bound(goal_, at(program_.lanes, run.back().lane), state)) return run;
      moves_.make(state, run.back());
    }
  }
  return std::nullopt;
}

Explored<Task> Search::explore() {
  AtRest states(moves_, goal_, budget_);
  return breadth_first(states, {machine_.initial()}, budget_, {.visit = moves_.cost()});
}

bool Search::shows_goal(const Run& run) const {
  State state = machine_.initial();
  for (std::size_t i = 0; i < run.size(); ++i) {
    if (!moves_.may_make(state, run[i])) return false;
    if (i + 1 == run.size() && breaks_bound(goal_, at(program_.lanes, run[i].lane), state))
      return true;
    moves_.make(state, run[i]);
  }
  return goal_.is_stuck() && moves_.sticking(state, moves_.next(state), budget_).has_value();
}

Run Search::shortened(Run run) {
  constexpr std::size_t kLongest = 100;  // the work grows with the cube of the length
  if (run.size() > kLongest) return run;
  for (std::size_t i = run.size(); i-- > 0;) {
    if (!budget_.spend(run.size() * moves_.cost())) break;
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
    const auto arrivals = moves_.deliveries(state, task);
    if (!arrivals) return std::nullopt;
    for (const Event& event : *arrivals) add(event);
    const bool last =
        i + 1 == run.size() && breaks_bound(goal_, at(program_.lanes, task.lane), state);
    add({.what = Event::Do::start, .lane = task.lane, .microbatch = task.microbatch});
    if (!last) add({.what = Event::Do::end, .lane = task.lane, .microbatch = task.microbatch});
  }
  if (goal_.is_stuck()) {
    const auto arrivals = moves_.sticking(state, moves_.next(state), budget_);
    if (!arrivals) return std::nullopt;
    for (const Event& event : *arrivals) add(event);
  }
  if (!replays(machine_, moves_.chooser(), goal_, events)) return std::nullopt;
  return events;
}

void Search::run_to_the_end(State& state, std::vector<Event>& events) const {
  const auto add = [&](const Event& event) {
    events.push_back(event);
    machine_.step(state, event);
  };
  for (std::vector<Task> next = moves_.next(state); !next.empty(); next = moves_.next(state)) {
    const auto arrivals = moves_.deliveries(state, next.front());
    if (!arrivals) return;
    for (const Event& event : *arrivals) add(event);
    const auto [lane, m] = next.front();
    add({.what = Event::Do::start, .lane = lane, .microbatch = m});
    add({.what = Event::Do::end, .lane = lane, .microbatch = m});
  }
  if (const auto arrivals = moves_.sticking(state, {}, budget_)) {
    for (const Event& event : *arrivals) add(event);
  }
}

std::optional<std::vector<Event>> Search::overfill(const Run& run, int inbox) const {
  std::vector<Event> before;
  State full = machine_.initial();
  for (const Task& task : run) {
    const auto arrivals = moves_.deliveries(full, task);
    if (!arrivals) return std::nullopt;
    for (const Event& event : *arrivals) before.push_back(event);
    before.push_back({.what = Event::Do::start, .lane = task.lane, .microbatch = task.microbatch});
    before.push_back({.what = Event::Do::end, .lane = task.lane, .microbatch = task.microbatch});
    for (std::size_t i = before.size() - arrivals->size() - 2; i < before.size(); ++i) {
      machine_.step(full, before[i]);
    }
  }
  std::vector<Event> waiting;  // the last microbatches first, as these are taken last
  for (int m = machine_.microbatches(); m-- > 0;) {
    for (int edge = 0; edge < size_of(program_.edges); ++edge) {
      const bool waits = moves_.is_on_its_way(full, edge, m);
      if (at(program_.edges, edge).inbox == inbox && waits)
        waiting.push_back(arrival_of(program_, edge, m));
    }
  }
  for (std::size_t left_out = waiting.size(); left_out-- > 0;) {
    std::vector<Event> events = before;
    State state = full;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (i == left_out || !machine_.is_enabled(state, waiting[i], moves_.chooser())) continue;
      events.push_back(waiting[i]);
      machine_.step(state, waiting[i]);
    }
    run_to_the_end(state, events);
    if (replays(machine_, moves_.chooser(), goal_, events)) return events;
  }
  return std::nullopt;
}

}  // namespace ripeline::verify
