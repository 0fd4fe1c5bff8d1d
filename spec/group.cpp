#include "spec/group.h"

#include <algorithm>
#include <tuple>

#include "spec/long_work.h"

namespace ripeline::spec {
namespace {

template <class Holds>
bool all_of(const GroupMachine::Team& team, const Holds& holds) {
  for (int i = 0; i < team.size; ++i) {
    if (!holds(team.first + i * team.step)) return false;
  }
  return true;
}

}  // namespace

GroupMachine::GroupMachine(const Program& program, int microbatches, int members, int replicas)
    : machine_(program, microbatches), members_(members), replicas_(replicas) {
  governed_.assign(static_cast<std::size_t>(program.ranks) * kEngines, Governed::by_nobody);
  if (program.dispatch.in_order) return;
  const bool alone = members == 1 || program.tensor_parallel.agree == Agree::none;
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    const Lane& l = at(program.lanes, lane);
    Governed& governed = governed_[engine_index(l.rank, l.engine)];
    if (l.collectives > 0 && !alone) governed = Governed::by_members;
    if (program.reduces(lane) && replicas > 1) governed = Governed::by_replicas;
  }
}

GroupMachine::State GroupMachine::initial() const {
  State state;
  state.members.assign(static_cast<std::size_t>(all()), machine_.initial());
  const int teams = replicas_ == 1 ? 1 : std::max(replicas_, members_);
  state.agreed.resize(governed_.size() * static_cast<std::size_t>(teams));
  return state;
}

GroupMachine::Team GroupMachine::team(int rank, Engine engine, int member) const {
  const bool replicas = governed_[engine_index(rank, engine)] == Governed::by_replicas;
  return replicas ? replicas_of(member) : members_of(member);
}

// The index of the log of a team: by replica if members agree, by member if replicas agree.
std::size_t GroupMachine::log_index(int rank, Engine engine, int member) const {
  const std::size_t index = engine_index(rank, engine);
  const bool replicas = governed_[index] == Governed::by_replicas;
  const int number = replicas ? member % members_ : member / members_;
  return static_cast<std::size_t>(number) * governed_.size() + index;
}

std::vector<Task> GroupMachine::ready(const Machine::State& state, int rank, Engine engine) const {
  std::vector<Task> found;
  for (int lane = program().first_lane(rank); lane < program().first_lane(rank + 1); ++lane) {
    if (at(program().lanes, lane).engine != engine) continue;
    for (int m = 0; m < program().tasks_of(lane, machine_.microbatches()); ++m) {
      if (machine_.may_start(state, lane, m)) found.push_back({lane, m});
    }
  }
  return found;
}

// Whether the task may start (if `may_start`) or has started (if not) at every member of the team.
bool GroupMachine::all_have(const State& state, const Team& team, const Task& task,
                            bool may_start) const {
  return all_of(team, [&](int member) {
    const Machine::State& own = at(state.members, member);
    if (may_start) return machine_.may_start(own, task.lane, task.microbatch);
    return machine_.has_started(own, task.lane, task.microbatch);
  });
}

// Whether all processes that decide on the next entry have started all entries of the log.
bool GroupMachine::round_is_open(const State& state, int rank, Engine engine,
                                 const Team& team) const {
  const std::size_t index = engine_index(rank, engine);
  const auto entries = static_cast<int>(state.agreed[log_index(rank, engine, team.first)].size());
  const bool leader =
      governed_[index] == Governed::by_members && program().tensor_parallel.agree == Agree::leader;
  const Team deciding{team.first, team.step, leader ? 1 : team.size};
  return all_of(deciding,
                [&](int member) { return at(state.members, member).position[index] == entries; });
}

// The hint's choice from the member's ready tasks or, with `intersection`, from the common tasks.
Task GroupMachine::chosen(const State& state, int member, int rank, Engine engine) const {
  Machine::Allowed allowed;
  if (program().tensor_parallel.agree == Agree::intersection) {
    allowed = [&](int lane, int m) { return all_have(state, members_of(member), {lane, m}, true); };
  }
  const auto [lane, m] = machine_.choice(at(state.members, member), rank, engine, allowed);
  return {lane, m};
}

// Whether no reduction that may start at all replicas comes before the task.
bool GroupMachine::is_first_reduction(const State& state, const Team& team,
                                      const Task& task) const {
  const auto place = [&](const Task& t) {
    const Lane& lane = at(program().lanes, t.lane);
    return std::tuple(lane.op, -lane.stage, t.microbatch);
  };
  const Lane& lane = at(program().lanes, task.lane);
  const std::vector<Task> others = ready(at(state.members, team.first), lane.rank, lane.engine);
  return std::none_of(others.begin(), others.end(), [&](const Task& other) {
    return place(other) < place(task) && all_have(state, team, other, true);
  });
}

bool GroupMachine::may_agree(const State& state, const Event& event, Chooser chooser) const {
  const Task task{event.lane, event.microbatch};
  const Lane& lane = at(program().lanes, task.lane);
  if (!governs(lane.rank, lane.engine)) return false;
  const Team all = team(lane.rank, lane.engine, event.member);
  if (event.member != all.first || !round_is_open(state, lane.rank, lane.engine, all)) return false;
  const bool replicas = governed_[engine_index(lane.rank, lane.engine)] == Governed::by_replicas;
  const Agree agree = replicas ? Agree::intersection : program().tensor_parallel.agree;
  const Team asked{all.first, all.step, agree == Agree::leader ? 1 : all.size};
  const bool may = all_have(state, asked, task, true);
  if (!may || chooser == Chooser::any) return may;
  if (replicas) return is_first_reduction(state, all, task);
  const Team voters{all.first, all.step, agree == Agree::vote ? all.size : 1};
  return all_of(voters,
                [&](int member) { return chosen(state, member, lane.rank, lane.engine) == task; });
}

bool GroupMachine::may_end(const State& state, const Event& event) const {
  const Task task{event.lane, event.microbatch};
  if (at(program().lanes, event.lane).collectives > 0 &&
      !all_have(state, members_of(event.member), task, false)) {
    return false;
  }
  return !program().reduces(event.lane) || all_have(state, replicas_of(event.member), task, false);
}

bool GroupMachine::member_may(const State& state, const Event& event, Chooser chooser) const {
  const Machine::State& own = at(state.members, event.member);
  const Lane& lane = at(program().lanes, event.lane);
  const Task task{event.lane, event.microbatch};
  if (event.what == Event::Do::start && governs(lane.rank, lane.engine)) {
    const auto& log = state.agreed[log_index(lane.rank, lane.engine, event.member)];
    const auto next = static_cast<std::size_t>(own.position[engine_index(lane.rank, lane.engine)]);
    return next < log.size() && log[next] == task && machine_.is_enabled(own, event, Chooser::any);
  }
  if (!machine_.is_enabled(own, event, chooser)) return false;
  return event.what != Event::Do::end || may_end(state, event);
}

void GroupMachine::add_agreements(const State& state, Chooser chooser,
                                  std::vector<Event>& events) const {
  for (int member = 0; member < all(); ++member) {
    for (int rank = 0; rank < program().ranks; ++rank) {
      for (const Engine engine : kAllEngines) {
        if (!governs(rank, engine) || team(rank, engine, member).first != member) continue;
        for (const Task& task : ready(at(state.members, member), rank, engine)) {
          const Event agree{.what = Event::Do::agree,
                            .lane = task.lane,
                            .microbatch = task.microbatch,
                            .member = member};
          if (may_agree(state, agree, chooser)) events.push_back(agree);
        }
      }
    }
  }
}

std::vector<Event> GroupMachine::enabled(const State& state, Chooser chooser) const {
  std::vector<Event> events;
  for (int member = 0; member < all(); ++member) {
    const Machine::State& own = at(state.members, member);
    // On a governed engine the log decides, not the member's own choice of a task.
    std::vector<Event> found = machine_.enabled(own, chooser);
    for (int rank = 0; rank < program().ranks; ++rank) {
      for (const Engine engine : kAllEngines) {
        if (!governs(rank, engine)) continue;
        const auto next = static_cast<std::size_t>(own.position[engine_index(rank, engine)]);
        const auto& log = state.agreed[log_index(rank, engine, member)];
        if (next >= log.size()) continue;
        const Event start{
            .what = Event::Do::start, .lane = log[next].lane, .microbatch = log[next].microbatch};
        if (std::find(found.begin(), found.end(), start) == found.end()) found.push_back(start);
      }
    }
    for (Event& event : found) {
      event.member = member;
      if (member_may(state, event, chooser)) events.push_back(event);
    }
  }
  add_agreements(state, chooser, events);
  return events;
}

bool GroupMachine::is_enabled(const State& state, const Event& event, Chooser chooser) const {
  const bool is_task = event.lane >= 0 && event.lane < size_of(program().lanes) &&
                       event.microbatch >= 0 && event.microbatch < machine_.microbatches();
  if (!is_task || event.member < 0 || event.member >= all()) return false;
  if (event.what != Event::Do::agree) return member_may(state, event, chooser);
  return event.microbatch < program().tasks_of(event.lane, machine_.microbatches()) &&
         may_agree(state, event, chooser);
}

void GroupMachine::step(State& state, const Event& event) const {
  stop_point();
  if (event.what != Event::Do::agree) {
    machine_.step(state.members[static_cast<std::size_t>(event.member)], event);
    return;
  }
  const Lane& lane = at(program().lanes, event.lane);
  state.agreed[log_index(lane.rank, lane.engine, event.member)].push_back(
      {event.lane, event.microbatch});
}

std::vector<Event> GroupMachine::by_all_replicas(const std::vector<Event>& of_one) const {
  std::vector<Event> events;
  for (const Event& event : of_one) {
    const Lane& lane = at(program().lanes, event.lane);
    if (event.what == Event::Do::start &&
        governed_[engine_index(lane.rank, lane.engine)] == Governed::by_replicas) {
      events.push_back(event);
      events.back().what = Event::Do::agree;
    }
    for (int replica = 0; replica < replicas_; ++replica) {
      events.push_back(event);
      events.back().member += replica * members_;
    }
  }
  return events;
}

bool GroupMachine::done(const State& state) const {
  return std::all_of(state.members.begin(), state.members.end(),
                     [this](const Machine::State& own) { return machine_.done(own); });
}

bool GroupMachine::stuck(const State& state) const {
  return !done(state) && enabled(state, Chooser::dispatch).empty();
}

std::string GroupMachine::describe(const Event& event) const {
  if (event.what == Event::Do::agree) return machine_.describe(event);
  std::string who;
  if (replicas_ > 1) who = "replica " + std::to_string(event.member / members_) + ": ";
  if (replicas_ == 1 || members_ > 1) {
    who += "member " + std::to_string(event.member % members_) + ": ";
  }
  return who + machine_.describe(event);
}

}  // namespace ripeline::spec
