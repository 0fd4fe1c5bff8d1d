#include "verify/group/every_size.h"

#include <algorithm>
#include <map>
#include <set>

#include "verify/states/explorer.h"
#include "verify/states/state_key.h"

namespace ripeline::verify {

using spec::Agree;
using spec::Event;
using spec::GroupMachine;
using spec::Task;
using Chooser = spec::Machine::Chooser;

namespace {

constexpr std::size_t kTasksPerUnit = 16;  // a state's cost grows with its tasks

}  // namespace

EverySize::EverySize(const GroupMachine& group, Budget& budget)
    : group_(group),
      machine_(group.member()),
      program_(group.program()),
      budget_(budget),
      cost_(1 + machine_.initial().tasks.size() / kTasksPerUnit) {}

bool EverySize::leads() const { return program_.tensor_parallel.agree == Agree::leader; }

// A key of all that decides the member's moves, including the hint's turn if members vote.
std::string EverySize::key_of(const Local& local) const {
  StateKey key;
  key.add_tasks(local.state).add_messages(local.state).add_queues(local.state);
  key.add(size_of(local.due));
  for (const Task& task : local.due) key.add(task.lane).add(task.microbatch);
  if (program_.tensor_parallel.agree == Agree::vote) key.add_rounds(local.state);
  return key.take();
}

// True if a task that was agreed on has not started yet on the lane's engine.
bool EverySize::is_due(const Local& local, const spec::Lane& lane) const {
  return std::any_of(local.due.begin(), local.due.end(), [&](const Task& task) {
    const spec::Lane& other = at(program_.lanes, task.lane);
    return other.rank == lane.rank && other.engine == lane.engine;
  });
}

// True if nothing can prevent the event, and nothing is lost if it happens at once. This holds for
// ends, starts of agreed tasks, and arrivals that compete with no other message for a slot.
bool EverySize::goes_first(const Event& event) const {
  if (event.what == Event::Do::end) return true;
  if (event.what == Event::Do::start) {
    const spec::Lane& lane = at(program_.lanes, event.lane);
    return group_.governs(lane.rank, lane.engine);
  }
  const spec::Edge& e = at(program_.edges, event.edge);
  const bool own = e.inbox >= 0 && at(program_.inboxes, e.inbox).channel.empty();
  return e.inbox < 0 || (own && e.fifo);
}

// The events that can happen at the member by itself; if an event goes first, only that event.
std::vector<Event> EverySize::moves(const Local& local) const {
  std::vector<Event> found;
  for (const Event& event : machine_.enabled(local.state, Chooser::any)) {
    const spec::Lane& lane = at(program_.lanes, event.lane);
    if (event.what == Event::Do::end && lane.collectives > 0) continue;
    if (event.what == Event::Do::start && group_.governs(lane.rank, lane.engine)) {
      const auto first = std::find_if(local.due.begin(), local.due.end(), [&](const Task& task) {
        const spec::Lane& other = at(program_.lanes, task.lane);
        return other.rank == lane.rank && other.engine == lane.engine;
      });
      if (first == local.due.end() || *first != Task{event.lane, event.microbatch}) continue;
    }
    if (goes_first(event)) return {event};
    found.push_back(event);
  }
  return found;
}

void EverySize::do_locally(Local& local, const Event& event) const {
  machine_.step(local.state, event);
  if (event.what == Event::Do::start) std::erase(local.due, Task{event.lane, event.microbatch});
}

// The states that one member may reach by itself. The member may rest where no event goes first.
// The last move is tried first; this determines the order of a set, and so which run is found.
class EverySize::Alone {
 public:
  using State = Entry;
  using Move = Event;
  struct Rest {
    std::size_t number;
    Entry entry;
  };

  explicit Alone(const EverySize& all) : all_(all) {}

  [[nodiscard]] std::string key(const Entry& entry) const { return all_.key_of(entry.local); }
  [[nodiscard]] Visit<Event> visit(const Entry& entry, std::size_t number) {
    std::vector<Event> next = all_.moves(entry.local);
    if (next.empty() || !all_.goes_first(next.front())) rests_.push_back({number, entry});
    std::reverse(next.begin(), next.end());
    return {.moves = std::move(next)};
  }
  [[nodiscard]] Entry after(const Entry& entry, const Event& event) const {
    Entry after = entry;
    all_.do_locally(after.local, event);
    return after;
  }
  [[nodiscard]] std::vector<Rest>& rests() { return rests_; }

 private:
  const EverySize& all_;
  std::vector<Rest> rests_;
};

// States in which a member from an entry of `set` may rest; those from the last entry come first.
EverySize::Set EverySize::closed(Set set) {
  std::reverse(set.begin(), set.end());
  Alone states(*this);
  const auto explored = depth_first(states, std::move(set), budget_, {.arrival = cost_});
  Set rests;
  for (Alone::Rest& rest : states.rests()) {
    rest.entry.trail.events = explored.ways.moves_to(rest.number);
    rests.push_back(std::move(rest.entry));
  }
  return rests;
}

// The member's next common actions; if `agrees`, these include agreements on what it may start.
EverySize::Actions EverySize::actions(const Local& local, bool agrees) const {
  Actions found;
  for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
    const spec::Lane& l = at(program_.lanes, lane);
    const bool governed = agrees && group_.governs(l.rank, l.engine) && !is_due(local, l);
    for (int m = 0; m < program_.tasks_of(lane, machine_.microbatches()); ++m) {
      const Event end{.what = Event::Do::end, .lane = lane, .microbatch = m};
      if (governed && machine_.may_start(local.state, lane, m)) {
        found.push_back({Action::Do::agree, {lane, m}});
      } else if (l.collectives > 0 && machine_.is_enabled(local.state, end, Chooser::any)) {
        found.push_back({Action::Do::end, {lane, m}});
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// The actions of a member that has no moves. If members vote, it agrees only to its hint's choice.
EverySize::Actions EverySize::last_actions(const Local& local, bool agrees) const {
  if (machine_.done(local.state)) return {{Action::Do::rest, {}}};
  Actions found = actions(local, agrees);
  if (program_.tensor_parallel.agree != Agree::vote) return found;
  std::erase_if(found, [&](const Action& action) {
    const spec::Lane& lane = at(program_.lanes, action.task.lane);
    return action.what == Action::Do::agree &&
           machine_.choice(local.state, lane.rank, lane.engine) != action.task;
  });
  return found;
}

EverySize::Set EverySize::after(const Set& set, const Action& action, bool agrees) {
  Set next;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const bool follows = action.what == Action::Do::agree && !agrees;
    const Actions may = actions(set[i].local, agrees);
    if (!follows && !std::binary_search(may.begin(), may.end(), action)) continue;
    Entry entry{set[i].local, {i, {}}};
    if (action.what == Action::Do::agree) {
      entry.local.due.push_back(action.task);
    } else {
      machine_.step(
          entry.local.state,
          {.what = Event::Do::end, .lane = action.task.lane, .microbatch = action.task.microbatch});
    }
    next.push_back(std::move(entry));
  }
  return closed(std::move(next));
}

// The different last_actions() of entries that have no moves, each with its first entry's index.
std::map<EverySize::Actions, std::size_t> EverySize::last_actions_of(const Set& set,
                                                                     bool agrees) const {
  std::map<Actions, std::size_t> found;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (!moves(set[i].local).empty()) continue;
    found.emplace(last_actions(set[i].local, agrees), i);
  }
  return found;
}

// A state has the size of a group and the actions that all members share; a move adds a member.
class EverySize::InCommon {
 public:
  struct State {
    std::size_t members = 0;
    Actions actions;
  };
  using Move = std::map<Actions, std::size_t>::const_pointer;  // the member to add

  // `least` is the smallest number of members that counts as a group.
  InCommon(const std::map<Actions, std::size_t>& firsts,
           const std::map<Actions, std::size_t>& others, std::size_t least)
      : firsts_(firsts), others_(others), least_(least) {}

  [[nodiscard]] std::string key(const State& state) const {
    StateKey key;
    key.add(static_cast<int>(std::min(state.members, least_)));
    for (const Action& action : state.actions) {
      key.add(static_cast<int>(action.what));
      key.add(action.task.lane + 1).add(action.task.microbatch + 1);
    }
    return key.take();
  }
  [[nodiscard]] Visit<Move> visit(const State& state, std::size_t /*number*/) const {
    if (state.members >= least_ && state.actions.empty()) return {.found = true};
    Visit<Move> visited;
    for (const auto& member : state.members == 0 ? firsts_ : others_) {
      visited.moves.push_back(&member);
    }
    return visited;
  }
  [[nodiscard]] State after(const State& state, const Move& member) const {
    const Actions& own = member->first;
    if (state.members == 0) return {1, own};
    State after{state.members + 1, {}};
    std::set_intersection(own.begin(), own.end(), state.actions.begin(), state.actions.end(),
                          std::back_inserter(after.actions));
    return after;
  }

 private:
  const std::map<Actions, std::size_t>& firsts_;
  const std::map<Actions, std::size_t>& others_;
  std::size_t least_;
};

std::optional<EverySize::Members> EverySize::stuck(const Sets& sets) const {
  const std::map<Actions, std::size_t> others = last_actions_of(sets.others, !leads());
  std::map<Actions, std::size_t> leaders;
  if (leads()) leaders = last_actions_of(sets.leader, true);
  // A leader that may start a task can agree on that task by itself, so it does not stick.
  std::erase_if(leaders, [](const auto& leader) {
    const Actions& own = leader.first;
    return !own.empty() && own.front().what == Action::Do::agree;
  });
  InCommon states(leads() ? leaders : others, others, leads() ? 2 : 1);
  Budget budget = Budget::unlimited();
  const auto explored = breadth_first(states, {InCommon::State{}}, budget, {});
  if (!explored.way) return std::nullopt;
  Members members;
  for (const InCommon::Move member : *explored.way) members.push_back(member->second);
  return members;
}

// The actions that the members may take together next. If every entry allows an end, only that end.
std::vector<EverySize::Action> EverySize::next_of(const Sets& sets) const {
  std::map<Action, std::size_t> found;
  const Set& deciding = leads() ? sets.leader : sets.others;
  for (const Entry& entry : deciding) {
    for (const Action& action : actions(entry.local, true)) ++found[action];
  }
  std::vector<Action> all;
  for (const auto& [action, times] : found) {
    const auto may_end = [&, a = action](const Entry& entry) {
      const Actions own = actions(entry.local, false);
      return std::binary_search(own.begin(), own.end(), a);
    };
    const bool everywhere =
        times == deciding.size() && std::all_of(sets.others.begin(), sets.others.end(), may_end);
    if (action.what == Action::Do::end && everywhere) return {action};
    all.push_back(action);
  }
  return all;
}

class EverySize::AllTogether {
 public:
  using State = Sets;
  using Move = Action;

  explicit AllTogether(EverySize& all) : all_(all) {}

  [[nodiscard]] std::string key(const Sets& sets) const {
    StateKey key;
    for (const Set* set : {&sets.leader, &sets.others}) {
      std::set<std::string> keys;
      for (const Entry& entry : *set) keys.insert(all_.key_of(entry.local));
      key.add(static_cast<int>(keys.size()));
      for (const std::string& one : keys) key.add(one);
    }
    return key.take();
  }
  [[nodiscard]] Visit<Action> visit(const Sets& sets, std::size_t /*number*/) {
    trails_.push_back({trails_of(sets.leader), trails_of(sets.others)});
    if (sets.others.empty() || (all_.leads() && sets.leader.empty())) return {};
    if (auto found = all_.stuck(sets)) {
      const int members = std::max(2, size_of(*found));
      fewest_ = fewest_ == 0 ? members : std::min(fewest_, members);
      stuck_ = std::move(*found);
      if (members <= all_.group_.members()) return {.found = true};
    }
    return {.moves = all_.next_of(sets)};
  }
  [[nodiscard]] Sets after(const Sets& sets, const Action& action) {
    Sets after{{}, all_.after(sets.others, action, !all_.leads())};
    if (all_.leads()) after.leader = all_.after(sets.leader, action, true);
    return after;
  }

  [[nodiscard]] int fewest() const { return fewest_; }
  [[nodiscard]] const Members& stuck() const { return stuck_; }
  // The trails of each visited state.
  [[nodiscard]] const std::vector<Trails>& trails() const { return trails_; }

 private:
  [[nodiscard]] static std::vector<Trail> trails_of(const Set& set) {
    std::vector<Trail> trails;
    for (const Entry& entry : set) trails.push_back(entry.trail);
    return trails;
  }

  EverySize& all_;
  std::vector<Trails> trails_;
  int fewest_ = 0;
  Members stuck_;  // members that stick, in the last visited state that has such members
};

EverySize::Result EverySize::visit() {
  const Set first = closed({{{machine_.initial(), {}}, {}}});
  AllTogether states(*this);
  const auto explored = breadth_first(states, {Sets{leads() ? first : Set{}, first}}, budget_, {});
  Result result{explored.complete, states.fewest(), {}};
  if (!explored.way) return result;
  std::vector<const Trails*> path;
  for (const std::size_t number : explored.ways.states_to(states.trails().size() - 1)) {
    path.push_back(&states.trails()[number]);
  }
  result.run = run_of(path, *explored.way, states.stuck());
  return result;
}

// Returns a run of the group through the sets of `path`; all members take actions[k] after set k.
// Member i ends in entry stuck[i] of the last set; members beyond `stuck` act like its last one.
std::vector<Event> EverySize::run_of(const std::vector<const Trails*>& path,
                                     const std::vector<Action>& actions,
                                     const Members& stuck) const {
  const auto trail_of = [&](int member, std::size_t step, std::size_t entry) -> const Trail& {
    const bool leader = leads() && member == 0;
    return (leader ? path[step]->leader : path[step]->others)[entry];
  };
  std::vector<std::vector<std::size_t>> entries;  // per member: the index of its entry in each set
  for (int member = 0; member < group_.members(); ++member) {
    std::vector<std::size_t> own(path.size());
    own.back() = at(stuck, std::min(member, size_of(stuck) - 1));
    for (std::size_t k = path.size(); k-- > 1;) own[k - 1] = trail_of(member, k, own[k]).from;
    entries.push_back(std::move(own));
  }
  std::vector<Event> run;
  for (std::size_t k = 0; k < path.size(); ++k) {
    const Action action = k == 0 ? Action{} : actions[k - 1];
    Event together{
        .what = Event::Do::agree, .lane = action.task.lane, .microbatch = action.task.microbatch};
    if (k > 0 && action.what == Action::Do::agree) run.push_back(together);
    together.what = Event::Do::end;
    for (int member = 0; member < group_.members(); ++member) {
      together.member = member;
      if (k > 0 && action.what == Action::Do::end) run.push_back(together);
      for (Event event : trail_of(member, k, at(entries, member)[k]).events) {
        event.member = member;
        run.push_back(event);
      }
    }
  }
  return run;
}

}  // namespace ripeline::verify
