#include "verify/group/every_size.h"

#include <algorithm>
#include <map>
#include <set>

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
    : group_(group), machine_(group.member()), program_(group.program()), budget_(budget) {}

bool EverySize::leads() const { return program_.tensor_parallel.agree == Agree::leader; }

// What it depends on how the member goes on: a hint's turn only where members vote.
std::string EverySize::key_of(const Local& local) const {
  StateKey key;
  key.add_tasks(local.state).add_messages(local.state).add_queues(local.state);
  key.add(size_of(local.due));
  for (const Task& task : local.due) key.add(task.lane).add(task.microbatch);
  if (program_.tensor_parallel.agree == Agree::vote) key.add_rounds(local.state);
  return key.take();
}

// Something that was agreed on is still to start on the lane's engine.
bool EverySize::is_due(const Local& local, const spec::Lane& lane) const {
  return std::any_of(local.due.begin(), local.due.end(), [&](const Task& task) {
    const spec::Lane& other = at(program_.lanes, task.lane);
    return other.rank == lane.rank && other.engine == lane.engine;
  });
}

// Nothing can come in its way, and nothing is lost if it happens at once: ends, starts of what was
// agreed on, and arrivals that compete with no other message for a slot.
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

// What the member may do by itself; one event alone if it goes first.
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

// Adds what each may come to by itself; keeps those in which nothing goes first.
void EverySize::close(Set& set) {
  Set open = std::move(set);
  set.clear();
  std::unordered_set<std::string> seen;
  while (!open.empty() && !spent_) {
    Entry entry = std::move(open.back());
    open.pop_back();
    spent_ = !budget_.spend(1 + entry.local.state.tasks.size() / kTasksPerUnit);
    if (!seen.insert(key_of(entry.local)).second) continue;
    const std::vector<Event> next = moves(entry.local);
    for (const Event& event : next) {
      Entry more = entry;
      do_locally(more.local, event);
      more.events.push_back(event);
      open.push_back(std::move(more));
    }
    if (next.empty() || !goes_first(next.front())) set.push_back(std::move(entry));
  }
}

// `agrees`: the member has a say in what is agreed on. All that may start may be.
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

// Of a member that has nothing left to do by itself: a vote is for its hint's choice.
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
    Entry entry{set[i].local, i, {}};
    if (action.what == Action::Do::agree) {
      entry.local.due.push_back(action.task);
    } else {
      machine_.step(
          entry.local.state,
          {.what = Event::Do::end, .lane = action.task.lane, .microbatch = action.task.microbatch});
    }
    next.push_back(std::move(entry));
  }
  close(next);
  return next;
}

// Members are added one by one, the fewest first, as long as they have less and less in common.
std::optional<EverySize::Common> EverySize::stuck(const Node& node) const {
  const auto last = [&](const Set& set, bool agrees) {
    std::map<Actions, std::size_t> found;
    for (std::size_t i = 0; i < set.size(); ++i) {
      if (!moves(set[i].local).empty()) continue;
      found.emplace(last_actions(set[i].local, agrees), i);
    }
    return found;
  };
  const std::map<Actions, std::size_t> others = last(node.others, !leads());
  std::vector<Common> open;
  if (leads()) {
    for (const auto& [common, i] : last(node.leader, true)) {
      // What the leader may start it agrees on with itself.
      if (!common.empty() && common.front().what == Action::Do::agree) continue;
      open.push_back({common, {i}});
    }
  } else {
    for (const auto& [common, i] : others) open.push_back({common, {i}});
  }
  std::set<Actions> seen;
  for (std::size_t k = 0; k < open.size(); ++k) {
    const bool group = !leads() || open[k].who.size() > 1;
    if (open[k].actions.empty() && group) return open[k];
    for (const auto& [own, i] : others) {
      Common more = open[k];
      more.actions.clear();
      std::set_intersection(own.begin(), own.end(), open[k].actions.begin(), open[k].actions.end(),
                            std::back_inserter(more.actions));
      more.who.push_back(i);
      if (seen.insert(more.actions).second) open.push_back(std::move(more));
    }
  }
  return std::nullopt;
}

void EverySize::add(Node node) {
  StateKey key;
  for (const Set* set : {&node.leader, &node.others}) {
    std::set<std::string> keys;
    for (const Entry& entry : *set) keys.insert(key_of(entry.local));
    key.add(static_cast<int>(keys.size()));
    for (const std::string& one : keys) key.add(one);
  }
  if (spent_ || !seen_.insert(key.take()).second) return;
  nodes_.push_back(std::move(node));
}

// What the members may do together next, one by one; an end that is due at all of them goes first.
std::vector<EverySize::Action> EverySize::next_of(const Node& node) const {
  std::map<Action, std::size_t> found;
  const Set& deciding = leads() ? node.leader : node.others;
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
        times == deciding.size() && std::all_of(node.others.begin(), node.others.end(), may_end);
    if (action.what == Action::Do::end && everywhere) return {action};
    all.push_back(action);
  }
  return all;
}

void EverySize::expand(std::size_t i) {
  const bool leader = leads();
  const std::vector<Action> next = next_of(nodes_[i]);
  for (const Action& action : next) {
    Node node{{}, after(nodes_[i].others, action, !leader), i, action};
    if (leader) node.leader = after(nodes_[i].leader, action, true);
    if (!node.others.empty() && (!leader || !node.leader.empty())) add(std::move(node));
  }
  // How they came about is all that is still asked for.
  for (Entry& entry : nodes_[i].leader) entry.local = {};
  for (Entry& entry : nodes_[i].others) entry.local = {};
}

EverySize::Result EverySize::visit() {
  Result result;
  Node first;
  first.others = {{{machine_.initial(), {}}, 0, {}}};
  close(first.others);
  if (leads()) first.leader = first.others;
  add(std::move(first));
  for (std::size_t i = 0; i < nodes_.size() && !spent_; ++i) {
    if (const auto found = stuck(nodes_[i])) {
      const int members = std::max(2, size_of(found->who));
      result.fewest = result.fewest == 0 ? members : std::min(result.fewest, members);
      if (members <= group_.members()) {
        result.run = run_to(i, *found);
        return result;
      }
    }
    expand(i);
  }
  result.complete = !spent_;
  return result;
}

// The members that there are beyond those that stick do as the last of these.
std::vector<Event> EverySize::run_to(std::size_t i, const Common& stuck) const {
  std::vector<std::size_t> path;
  for (std::size_t k = i; k != 0; k = nodes_[k].before) path.push_back(k);
  path.push_back(0);
  std::reverse(path.begin(), path.end());
  const auto entry_of = [&](int member, std::size_t node, std::size_t entry) -> const Entry& {
    const Set& set = leads() && member == 0 ? nodes_[node].leader : nodes_[node].others;
    return set[entry];
  };
  std::vector<std::vector<std::size_t>> entries;  // per member: of each set on the path
  for (int member = 0; member < group_.members(); ++member) {
    std::vector<std::size_t> own(path.size());
    own.back() = at(stuck.who, std::min(member, size_of(stuck.who) - 1));
    for (std::size_t k = path.size(); k-- > 1;) {
      own[k - 1] = entry_of(member, path[k], own[k]).from;
    }
    entries.push_back(std::move(own));
  }
  std::vector<Event> run;
  for (std::size_t k = 0; k < path.size(); ++k) {
    const Action& action = nodes_[path[k]].action;
    Event together{
        .what = Event::Do::agree, .lane = action.task.lane, .microbatch = action.task.microbatch};
    if (k > 0 && action.what == Action::Do::agree) run.push_back(together);
    together.what = Event::Do::end;
    for (int member = 0; member < group_.members(); ++member) {
      together.member = member;
      if (k > 0 && action.what == Action::Do::end) run.push_back(together);
      for (Event event : entry_of(member, path[k], at(entries, member)[k]).events) {
        event.member = member;
        run.push_back(event);
      }
    }
  }
  return run;
}

}  // namespace ripeline::verify
