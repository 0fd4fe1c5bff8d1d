#include "certificates/recheck_replay.h"

#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "spec/group.h"
#include "verify/judge/bounds.h"

namespace ripeline::certificates {

using spec::Event;
using spec::GroupMachine;
using spec::Machine;
using spec::Program;
using spec::Task;

namespace {

// True if the order has a meaning for this count, so that a Machine can be made.
bool has_meaning(const Program& program, int microbatches) {
  if (microbatches < 1 || !program.microbatches.contains(microbatches)) return false;
  if (program.dispatch.binding() < 0) return true;
  const spec::Order& order = at(program.orders, program.dispatch.binding());
  for (int rank = 0; rank < program.ranks; ++rank) {
    if (!expand(program, order, rank, microbatches).ok()) return false;
  }
  return true;
}

// A pool that now holds more than its bound, or -1.
int above(const std::vector<std::optional<std::int64_t>>& bounds,
          const std::vector<std::int64_t>& held) {
  for (int p = 0; p < size_of(bounds); ++p) {
    const auto& bound = at(bounds, p);
    if (bound && at(held, p) > *bound) return p;
  }
  return -1;
}

class OrderReplay {
 public:
  OrderReplay(const Program& program, int microbatches)
      : program_(program), machine_(program, microbatches), state_(machine_.initial()) {
    for (int lane = 0; lane < size_of(program.lanes); ++lane) {
      for (int m = 0; m < program.tasks_of(lane, microbatches); ++m) {
        tasks_.emplace(program.task_name(lane, m), Task{lane, m});
      }
    }
  }

  // Runs the task; false if it may not start.
  bool start(const std::string& name) {
    const auto it = tasks_.find(name);
    if (it == tasks_.end()) return false;
    const auto [lane, m] = it->second;
    hand_over();
    for (const int edge : at(program_.lanes, lane).edges) {
      while (!at(state_.queues, edge).empty() && arrive(edge, at(state_.queues, edge).front())) {
      }
      const auto [first, last] =
          program_.needed(at(program_.edges, edge), m, machine_.microbatches());
      for (int needed = first; needed < last; ++needed) {
        arrive(edge, needed);
      }
    }
    newest_ = lane;
    return take({.what = Event::Do::start, .lane = lane, .microbatch = m});
  }
  // The amounts in the pools just after a start. A paired lane that has begun may run a task beside
  // the started one; for a pool that the started task acquires, the greatest amount that such a
  // task may not have released is included. Other pools hold no more than before.
  [[nodiscard]] std::vector<std::int64_t> most_held() const {
    std::vector<std::int64_t> most = state_.held;
    for (const spec::Acquire& a : at(program_.lanes, newest_).acquires) {
      const auto& capacity = at(program_.pools, a.pool).capacity;
      std::int64_t& held = most[static_cast<std::size_t>(a.pool)];
      for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
        if (at(state_.started, lane) == 0 || program_.pair_of(newest_, lane) == nullptr) continue;
        for (const spec::Release& r : at(program_.lanes, lane).releases) {
          const std::int64_t both = at(state_.held, a.pool) + r.amount;
          const bool fits = !capacity || both + a.leaving <= *capacity;
          if (r.pool == a.pool && fits) held = std::max(held, both);
        }
      }
    }
    return most;
  }
  void end(const std::string& name) {
    const auto [lane, m] = tasks_.at(name);
    take({.what = Event::Do::end, .lane = lane, .microbatch = m});
  }
  // Lets events other than starts happen until none is left; false if a start is possible.
  bool over() {
    for (bool more = true; more;) {
      more = false;
      for (const Event& e : machine_.enabled(state_, Machine::Chooser::any)) {
        if (e.what == Event::Do::start) return false;
        more = take(e) || more;
      }
    }
    return true;
  }
  [[nodiscard]] bool done() const { return machine_.done(state_); }

 private:
  // Lets all rendezvous messages that are due arrive, which frees the engines of their senders.
  void hand_over() {
    for (int edge = 0; edge < size_of(program_.edges); ++edge) {
      const spec::Edge& e = at(program_.edges, edge);
      for (int m = 0; e.rendezvous && m < machine_.microbatches(); ++m) {
        take({.what = Event::Do::arrive, .lane = e.consumer, .microbatch = m, .edge = edge});
      }
    }
  }

  bool arrive(int edge, int microbatch) {
    const int lane = at(program_.edges, edge).consumer;
    return take({.what = Event::Do::arrive, .lane = lane, .microbatch = microbatch, .edge = edge});
  }

  bool take(const Event& event) {
    if (!machine_.is_enabled(state_, event, Machine::Chooser::any)) return false;
    machine_.step(state_, event);
    return true;
  }

  const Program& program_;
  Machine machine_;
  Machine::State state_;
  int newest_ = -1;  // the lane whose task started last
  std::unordered_map<std::string, Task> tasks_;
};

// Slots can only delay a rank, and its memory depends only on its progress; so slots are left out.
Program without_bounded_links(Program program) {
  for (spec::Edge& edge : program.edges) {
    edge.inbox = -1;
    edge.fifo = false;
  }
  program.inboxes.clear();
  return program;
}

// The key of a member's state: the parts in which states differ. For any choice, the rest follows.
std::string key_of(const Machine::State& state) {
  std::string key;
  key.reserve(state.tasks.size() + state.messages.size());
  for (const auto t : state.tasks) key += static_cast<char>(t);
  for (const auto m : state.messages) key += static_cast<char>(m);
  for (const auto& queue : state.queues) {
    for (const int m : queue) key += std::to_string(m) + ",";
    key += ';';
  }
  return key;
}

// The key of a group also has the agreed tasks that not all members have started, and the turns of
// hints, which affect votes. Members except a leader are interchangeable, so their keys are sorted.
std::string key_of(const Program& program, const GroupMachine::State& state) {
  std::vector<std::string> members;
  for (const Machine::State& own : state.members) {
    members.push_back(key_of(own));
    if (state.members.size() == 1) return members.front();
    for (const int position : own.position) members.back() += std::to_string(position) + ",";
    for (const int round : own.rounds) members.back() += std::to_string(round) + ",";
  }
  const bool leads = program.tensor_parallel.agree == spec::Agree::leader;
  std::sort(members.begin() + (leads ? 1 : 0), members.end());
  std::string key;
  for (const std::string& member : members) key += member + '|';
  for (std::size_t engine = 0; engine < state.agreed.size(); ++engine) {
    const std::vector<spec::Task>& log = state.agreed[engine];
    std::size_t everywhere = log.size();  // entries that all members have started
    for (const Machine::State& own : state.members) {
      everywhere = std::min(everywhere, static_cast<std::size_t>(own.position[engine]));
    }
    for (std::size_t i = everywhere; i < log.size(); ++i) {
      key += std::to_string(log[i].lane) + "." + std::to_string(log[i].microbatch) + ",";
    }
    key += ';';
  }
  return key;
}

// True if the n-th tasks with collectives that two members start on an engine differ, for some n.
bool members_part(const Program& program, const std::vector<Event>& events) {
  std::map<std::pair<std::size_t, int>, std::vector<Task>> issued;  // by engine and member
  for (const Event& event : events) {
    if (event.what != Event::Do::start) continue;
    const spec::Lane& lane = at(program.lanes, event.lane);
    if (lane.collectives == 0) continue;
    issued[{spec::engine_index(lane.rank, lane.engine), event.member}].push_back(
        {event.lane, event.microbatch});
  }
  for (const auto& [one, tasks] : issued) {
    for (const auto& [other, others] : issued) {
      const std::size_t both = std::min(tasks.size(), others.size());
      if (one.first != other.first) continue;
      if (!std::equal(tasks.begin(), tasks.begin() + static_cast<std::ptrdiff_t>(both),
                      others.begin())) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

std::optional<std::string> replay_run(const Program& program, const Claim& claim,
                                      const std::vector<Event>& of_one) {
  const int microbatches = claim.microbatches;
  if (!has_meaning(program, microbatches)) {
    return fmt::format("the program cannot run with {} microbatches", microbatches);
  }
  // The certificate has the run of one replica; here all replicas make this run at once.
  const GroupMachine machine(program, microbatches, program.tensor_parallel.members,
                             program.data_parallel.replicas);
  const std::vector<Event> events = machine.by_all_replicas(of_one);
  GroupMachine::State state = machine.initial();
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!machine.is_enabled(state, events[i], Machine::Chooser::dispatch)) {
      return fmt::format("event {}, {}, cannot happen then", i + 1,
                         machine.member().describe(events[i]));
    }
    machine.step(state, events[i]);
  }
  if (claim.obligation == verify::ObligationKind::deadlock) {
    if (machine.stuck(state)) return std::nullopt;
    return "the program does not deadlock at its end";
  }
  if (claim.obligation == verify::ObligationKind::collectives) {
    if (members_part(program, of_one)) return std::nullopt;
    return "all members issue the same collectives";
  }
  const bool starts = !events.empty() && events.back().what == Event::Do::start;
  const verify::Goal goal = verify::goal_of_assertions(program, microbatches);
  if (starts && above(goal.bounds, at(state.members, events.back().member).held) >= 0)
    return std::nullopt;
  return "no assertion is broken at its end";
}

std::optional<std::string> confirm_not_once(const Program& program, int microbatches) {
  if (!program.dispatch.in_order || !has_meaning(program, microbatches)) {
    return "there is no order whose tasks could be counted";
  }
  const spec::Order& order = at(program.orders, program.dispatch.order);
  for (int rank = 0; rank < program.ranks; ++rank) {
    std::set<std::pair<int, int>> listed;
    const auto tasks = expand(program, order, rank, microbatches);
    for (const spec::Task& task : tasks.value()) {
      const bool fits = task.microbatch < program.tasks_of(task.lane, microbatches);
      if (!fits || !listed.emplace(task.lane, task.microbatch).second) return std::nullopt;
    }
    for (int lane = program.first_lane(rank); lane < program.first_lane(rank + 1); ++lane) {
      for (int m = 0; m < program.tasks_of(lane, microbatches); ++m) {
        if (listed.count({lane, m}) == 0) return std::nullopt;
      }
    }
  }
  return fmt::format("the order has each task once, with {} microbatches", microbatches);
}

std::optional<std::string> replay_order(const Program& program, int microbatches,
                                        const std::vector<std::string>& tasks, bool finishes,
                                        const std::vector<std::optional<std::int64_t>>* peaks) {
  if (!has_meaning(program, microbatches)) return "the order has no meaning for this count";
  if (peaks != nullptr && verify::bound_without_value(program, microbatches))
    return "a bound has no integer value";
  const verify::Goal goal = verify::goal_of_assertions(program, microbatches);
  const Program unbounded = without_bounded_links(program);
  OrderReplay replay(finishes ? program : unbounded, microbatches);
  for (const std::string& task : tasks) {
    if (!replay.start(task)) return task + " may not start where the order has it";
    const std::vector<std::int64_t> held = replay.most_held();
    for (const auto* bounds : {&goal.bounds, peaks}) {
      const int pool = peaks == nullptr ? -1 : above(*bounds, held);
      if (pool >= 0) {
        return fmt::format("{} makes {} hold {}", task, program.pool_name(pool), at(held, pool));
      }
    }
    replay.end(task);
  }
  if (finishes && !replay.done()) return "tasks are left at its end";
  if (!replay.done() && !replay.over()) return "it could go on at its end";
  return std::nullopt;
}

VisitResult visit_states(const Program& program, const Exploration& exploration,
                         std::uint64_t most_states) {
  if (!has_meaning(program, exploration.microbatches)) return {"the count is out of range", false};
  if (verify::bound_without_value(program, exploration.microbatches)) {
    return {"a bound has no integer value", false};
  }
  const GroupMachine machine(program, exploration.microbatches, exploration.members);
  const verify::Goal goal = verify::goal_of_assertions(program, exploration.microbatches);
  const bool looks_for_stuck = exploration.obligation == verify::ObligationKind::deadlock;
  std::unordered_set<std::string> seen;
  std::deque<GroupMachine::State> open = {machine.initial()};
  seen.insert(key_of(program, open.front()));
  while (!open.empty()) {
    const GroupMachine::State state = std::move(open.front());
    open.pop_front();
    const auto events = machine.enabled(state, Machine::Chooser::any);
    // Members that vote may stick although all could agree on some choice; so stuck() decides.
    const bool sticks =
        events.empty() ? !machine.done(state) : exploration.members > 1 && machine.stuck(state);
    if (looks_for_stuck && sticks) return {"a state that sticks is reached", false};
    for (const Event& event : events) {
      GroupMachine::State next = state;
      machine.step(next, event);
      const bool starts = !looks_for_stuck && event.what == Event::Do::start;
      const std::vector<std::int64_t>& held = at(next.members, event.member).held;
      if (starts && above(goal.bounds, held) >= 0) {
        return {"a start that breaks an assertion is reached", false};
      }
      if (starts && above(exploration.peaks, held) >= 0) {
        return {"a start that exceeds a claimed peak is reached", false};
      }
      if (seen.insert(key_of(program, next)).second) open.push_back(std::move(next));
    }
    if (seen.size() > most_states) return {};
  }
  return {std::nullopt, true};
}

}  // namespace ripeline::certificates
