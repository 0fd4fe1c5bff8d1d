#include "verify/group/parting.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "verify/states/explorer.h"
#include "verify/states/state_key.h"

namespace ripeline::verify {

using spec::Agree;
using spec::Engine;
using spec::Event;
using spec::GroupMachine;
using spec::Machine;
using Chooser = spec::Machine::Chooser;

namespace {

// The greatest number of ways to fill a rank's slots that are tried in one state.
constexpr std::size_t kMostFills = 64;
// Limits for a rank: the members that have different fills, and the combinations of fills tried.
constexpr int kMostApart = 8;
constexpr std::uint64_t kMostTried = 5'000;
constexpr std::size_t kTasksPerUnit = 16;  // a state's cost grows with its tasks

Event start_of(const Task& task) {
  return {.what = Event::Do::start, .lane = task.lane, .microbatch = task.microbatch};
}
Event end_of(const Task& task) {
  return {.what = Event::Do::end, .lane = task.lane, .microbatch = task.microbatch};
}

void add_at(int member, std::vector<Event> some, std::vector<Event>& events) {
  for (Event& event : some) {
    event.member = member;
    events.push_back(event);
  }
}

}  // namespace

GroupSearch::GroupSearch(const GroupMachine& group, Budget& budget)
    : group_(group), machine_(group.member()), program_(group.program()), budget_(budget) {}

std::optional<std::vector<Event>> GroupSearch::deliveries(const State& state,
                                                          const Task& task) const {
  std::vector<Event> events;
  State after = state;
  for (const int edge : at(program_.lanes, task.lane).edges) {
    const spec::Edge& e = at(program_.edges, edge);
    while (true) {
      const int missing = machine_.first_missing(after, edge, task.microbatch);
      if (missing < 0) break;
      const bool queued = e.fifo && !at(after.queues, edge).empty();
      const Event event =
          arrival_of(program_, edge, queued ? at(after.queues, edge).front() : missing);
      if (!machine_.is_enabled(after, event, Chooser::any)) return std::nullopt;
      machine_.step(after, event);
      events.push_back(event);
    }
  }
  if (!machine_.is_enabled(after, start_of(task), Chooser::dispatch)) return std::nullopt;
  return events;
}

std::vector<GroupSearch::Move> GroupSearch::moves(const State& state) const {
  std::vector<Move> found;
  for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
    for (int m = 0; m < program_.tasks_of(lane, machine_.microbatches()); ++m) {
      if (machine_.has_started(state, lane, m)) continue;
      if (auto arrivals = deliveries(state, {lane, m})) {
        found.push_back({{lane, m}, std::move(*arrivals)});
      }
    }
  }
  return found;
}

// States in which all members are alike.
class GroupSearch::Alike {
 public:
  using State = Machine::State;
  using Move = GroupSearch::Move;

  Alike(const GroupSearch& search, const Look& look) : search_(search), look_(look) {}

  // The key has the tasks that have ended, the turns of hints, and the messages sent on fifo edges.
  [[nodiscard]] std::string key(const State& state) const {
    StateKey key;
    return key.add_ended(state).add_rounds(state).add_queues(state).take();
  }
  [[nodiscard]] Visit<Move> visit(const State& state, std::size_t /*number*/) {
    std::vector<Move> next = search_.moves(state);
    found_ = look_(state, next);
    if (found_) return {.found = true};
    return {.moves = std::move(next)};
  }
  [[nodiscard]] State after(const State& state, const Move& move) const {
    State after = state;
    for (const Event& event : events_of(move)) search_.machine_.step(after, event);
    return after;
  }

  [[nodiscard]] static std::vector<Event> events_of(const Move& move) {
    std::vector<Event> events = move.arrivals;
    events.push_back(start_of(move.task));
    events.push_back(end_of(move.task));
    return events;
  }
  [[nodiscard]] std::optional<GroupRun> take_found() { return std::move(found_); }

 private:
  const GroupSearch& search_;
  const Look& look_;
  std::optional<GroupRun> found_;  // the members' events from the last state on
};

std::optional<GroupRun> GroupSearch::explore(const Look& look) {
  Alike states(*this, look);
  const State first = machine_.initial();
  const auto explored =
      breadth_first(states, {first}, budget_, {.visit = 1 + first.tasks.size() / kTasksPerUnit});
  if (!explored.way) return std::nullopt;
  std::vector<Event> of_one;
  for (const Move& move : *explored.way) {
    const std::vector<Event> events = Alike::events_of(move);
    of_one.insert(of_one.end(), events.begin(), events.end());
  }
  std::optional<GroupRun> run = states.take_found();
  const std::vector<Event> before = in_step(group_, of_one);
  run->events.insert(run->events.begin(), before.begin(), before.end());
  return run;
}

std::optional<GroupRun> GroupSearch::parting() {
  const auto lane_of = [&](const Move& move) { return at(program_.lanes, move.task.lane); };
  auto run = explore([&](const State&, const std::vector<Move>& next) -> std::optional<GroupRun> {
    for (const Move& a : next) {
      for (const Move& b : next) {
        const bool differ = lane_of(a).rank == lane_of(b).rank &&
                            lane_of(a).engine == lane_of(b).engine && !(a.task == b.task);
        if (!differ || lane_of(a).collectives == 0 || lane_of(b).collectives == 0) continue;
        GroupRun found;
        add_at(0, a.arrivals, found.events);
        add_at(0, {start_of(a.task)}, found.events);
        add_at(1, b.arrivals, found.events);
        add_at(1, {start_of(b.task)}, found.events);
        found.reason = fmt::format(
            "On rank {}, member 0 issues the collectives of {} where member 1 issues those of {}.",
            lane_of(a).rank, program_.task_name(a.task.lane, a.task.microbatch),
            program_.task_name(b.task.lane, b.task.microbatch));
        return found;
      }
    }
    return std::nullopt;
  });
  if (!run || !replayed(group_, Chooser::dispatch, run->events)) return std::nullopt;
  return run;
}

// Finds each set of arrivals once, ordered by edge and, if an edge is not fifo, by microbatch.
void GroupSearch::fill(const Fill& now, int rank, std::vector<Fill>& found) {
  const Event last = now.arrivals.empty() ? Event{} : now.arrivals.back();
  bool full = true;
  for (int edge = 0; edge < size_of(program_.edges); ++edge) {
    const spec::Edge& e = at(program_.edges, edge);
    if (at(program_.lanes, e.consumer).rank != rank || e.inbox < 0) continue;
    for (int m = 0; m < machine_.microbatches(); ++m) {
      const Event event = arrival_of(program_, edge, m);
      if (!machine_.is_enabled(now.after, event, Chooser::any)) continue;
      full = false;
      const bool later = edge > last.edge || (edge == last.edge && (e.fifo || m > last.microbatch));
      if (!later) continue;
      if (found.size() >= kMostFills || !budget_.spend(1)) return;
      Fill more = now;
      machine_.step(more.after, event);
      more.arrivals.push_back(event);
      fill(more, rank, found);
    }
  }
  if (full) found.push_back(now);
}

std::vector<GroupSearch::Fill> GroupSearch::fills(const State& state, int rank) {
  std::vector<Event> unbounded;
  State after = state;
  for (int edge = 0; edge < size_of(program_.edges); ++edge) {
    const spec::Edge& e = at(program_.edges, edge);
    if (at(program_.lanes, e.consumer).rank != rank || e.inbox >= 0) continue;
    for (int m = 0; m < machine_.microbatches(); ++m) {
      if (!machine_.is_enabled(after, arrival_of(program_, edge, m), Chooser::any)) continue;
      unbounded.push_back(arrival_of(program_, edge, m));
      machine_.step(after, unbounded.back());
    }
  }
  std::vector<Fill> found;
  fill({{}, after}, rank, found);
  for (Fill& one : found) {
    one.arrivals.insert(one.arrivals.begin(), unbounded.begin(), unbounded.end());
  }
  return found;
}

// True if no task ever starts on the rank once these fills have arrived at members 0, 1, ….
bool GroupSearch::disagree(const std::vector<const Fill*>& members, int rank) const {
  const Agree agree = program_.tensor_parallel.agree;
  return std::all_of(
      std::begin(spec::kAllEngines), std::end(spec::kAllEngines), [&](Engine engine) {
        const auto ready = [&](const Fill* at) { return group_.ready(at->after, rank, engine); };
        const auto own = [&](const Fill* at) { return machine_.choice(at->after, rank, engine); };
        const auto has = [&](const Fill* at, const Task& task) {
          return machine_.may_start(at->after, task.lane, task.microbatch);
        };
        const auto all_have = [&](const Task& task) {
          return std::all_of(members.begin(), members.end(),
                             [&](const Fill* at) { return has(at, task); });
        };
        if (!group_.governs(rank, engine)) {
          return std::all_of(members.begin(), members.end(),
                             [&](const Fill* at) { return ready(at).empty(); });
        }
        const auto [lane, m] = own(members.front());
        const Task first{lane, m};
        if (agree == Agree::intersection) {
          const std::vector<Task> tasks = ready(members.front());
          return std::none_of(tasks.begin(), tasks.end(), all_have);
        }
        if (lane < 0) return true;
        if (agree == Agree::leader)
          return at(program_.lanes, lane).collectives > 0 && !all_have(first);
        return std::any_of(
            members.begin(), members.end(),
            [&, chosen = Task{lane, m}](const Fill* at) { return own(at) != chosen; });
      });
}

// The fewest members, at most kMostApart, whose fills disagree; empty if none were found.
std::vector<const GroupSearch::Fill*> GroupSearch::parted(const std::vector<Fill>& ways,
                                                          int rank) const {
  const auto most = static_cast<std::size_t>(std::min(group_.members(), kMostApart));
  std::vector<const Fill*> members;
  std::uint64_t tried = 0;
  // Members after the first are chosen in the order of `ways`, since permutations do not matter.
  const std::function<bool(std::size_t, std::size_t)> choose = [&](std::size_t from,
                                                                   std::size_t count) {
    if (members.size() == count) return ++tried < kMostTried && disagree(members, rank);
    for (std::size_t i = members.empty() ? 0 : from; i < ways.size() && tried < kMostTried; ++i) {
      members.push_back(&ways[i]);
      if (choose(members.size() == 1 ? 0 : i + 1, count)) return true;
      members.pop_back();
    }
    return false;
  };
  for (std::size_t count = 1; count <= std::min(most, ways.size()); ++count) {
    if (choose(0, count)) return members;
  }
  return {};
}

// A run from `state` in which members part. Members beyond these have the last one's arrivals.
std::optional<GroupRun> GroupSearch::stuck_after(const State& state) {
  GroupRun run;
  for (int rank = 0; rank < program_.ranks; ++rank) {
    const std::vector<Fill> ways = fills(state, rank);
    const std::vector<const Fill*> members = parted(ways, rank);
    if (members.empty()) return std::nullopt;
    for (int member = 0; member < group_.members(); ++member) {
      add_at(member, at(members, std::min(member, size_of(members) - 1))->arrivals, run.events);
    }
  }
  return run;
}

// The group with all members in `state` and all agreed tasks started. Only a log's length matters.
GroupMachine::State GroupSearch::alike(const State& state) const {
  GroupMachine::State all = group_.initial();
  for (State& own : all.members) own = state;
  for (int rank = 0; rank < program_.ranks; ++rank) {
    for (const Engine engine : spec::kAllEngines) {
      const std::size_t place = spec::engine_index(rank, engine);
      if (!group_.governs(rank, engine)) continue;
      all.agreed[place].resize(static_cast<std::size_t>(state.position[place]));
    }
  }
  return all;
}

std::optional<GroupRun> GroupSearch::sticking() {
  auto run = explore([&](const State& state, const std::vector<Move>&) -> std::optional<GroupRun> {
    if (machine_.done(state)) return std::nullopt;
    auto found = stuck_after(state);
    if (!found) return std::nullopt;
    GroupMachine::State all = alike(state);
    for (const Event& event : found->events) group_.step(all, event);
    run_out(group_, all, found->events);
    if (!group_.stuck(all)) return std::nullopt;
    found->reason = why_stuck(group_, all);
    return found;
  });
  if (!run) return std::nullopt;
  const auto end = replayed(group_, Chooser::dispatch, run->events);
  if (!end || !group_.stuck(*end)) return std::nullopt;
  return run;
}

}  // namespace ripeline::verify
