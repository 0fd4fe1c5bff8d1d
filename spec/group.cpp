#include "spec/group.h"

#include <algorithm>

namespace ripeline::spec {
GroupMachine::GroupMachine(const Program& program, int microbatches, int members)
    : machine_(program, microbatches), members_(members) {
  governed_.assign(static_cast<std::size_t>(program.ranks) * kEngines, false);
  const bool alone = members == 1 || program.tensor_parallel.agree == Agree::none;
  if (alone || program.dispatch.in_order) return;
  for (const Lane& lane : program.lanes) {
    if (lane.collectives > 0) governed_[engine_index(lane.rank, lane.engine)] = true;
  }
}

GroupMachine::State GroupMachine::initial() const {
  State state;
  state.members.assign(static_cast<std::size_t>(members_), machine_.initial());
  state.agreed.resize(governed_.size());
  return state;
}

bool GroupMachine::governs(int rank, Engine engine) const {
  return governed_[engine_index(rank, engine)];
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

// At every member the task may start, or else has started.
bool GroupMachine::all_members_have(const State& state, const Task& task, bool may_start) const {
  return std::all_of(state.members.begin(), state.members.end(), [&](const Machine::State& own) {
    if (may_start) return machine_.may_start(own, task.lane, task.microbatch);
    return machine_.has_started(own, task.lane, task.microbatch);
  });
}

// Whoever decides has started all that was agreed before.
bool GroupMachine::round_is_open(const State& state, std::size_t engine) const {
  const auto entries = static_cast<int>(state.agreed[engine].size());
  const bool leader = program().tensor_parallel.agree == Agree::leader;
  return std::all_of(state.members.begin(),
                     leader ? state.members.begin() + 1 : state.members.end(),
                     [&](const Machine::State& own) { return own.position[engine] == entries; });
}

// What the member's hint takes: of its own ready set, or of the common one.
Task GroupMachine::chosen(const State& state, int member, int rank, Engine engine) const {
  Machine::Allowed allowed;
  if (program().tensor_parallel.agree == Agree::intersection) {
    allowed = [&](int lane, int m) { return all_members_have(state, {lane, m}, true); };
  }
  const auto [lane, m] = machine_.choice(at(state.members, member), rank, engine, allowed);
  return {lane, m};
}

bool GroupMachine::may_agree(const State& state, const Task& task, Chooser chooser) const {
  const Lane& lane = at(program().lanes, task.lane);
  if (!governs(lane.rank, lane.engine) ||
      !round_is_open(state, engine_index(lane.rank, lane.engine))) {
    return false;
  }
  const Agree agree = program().tensor_parallel.agree;
  const bool may = agree == Agree::leader
                       ? machine_.may_start(state.members.front(), task.lane, task.microbatch)
                       : all_members_have(state, task, true);
  if (!may || chooser == Chooser::any) return may;
  const int voters = agree == Agree::vote ? members_ : 1;
  for (int member = 0; member < voters; ++member) {
    if (chosen(state, member, lane.rank, lane.engine) != task) return false;
  }
  return true;
}

bool GroupMachine::member_may(const State& state, const Event& event, Chooser chooser) const {
  const Machine::State& own = at(state.members, event.member);
  const Lane& lane = at(program().lanes, event.lane);
  const std::size_t engine = engine_index(lane.rank, lane.engine);
  const Task task{event.lane, event.microbatch};
  if (event.what == Event::Do::start && governed_[engine]) {
    const auto next = static_cast<std::size_t>(own.position[engine]);
    return next < state.agreed[engine].size() && state.agreed[engine][next] == task &&
           machine_.is_enabled(own, event, Chooser::any);
  }
  if (!machine_.is_enabled(own, event, chooser)) return false;
  return event.what != Event::Do::end || lane.collectives == 0 ||
         all_members_have(state, task, false);
}

void GroupMachine::add_agreements(const State& state, Chooser chooser,
                                  std::vector<Event>& events) const {
  for (int rank = 0; rank < program().ranks; ++rank) {
    for (const Engine engine : kAllEngines) {
      if (!governs(rank, engine)) continue;
      for (const Task& task : ready(state.members.front(), rank, engine)) {
        if (!may_agree(state, task, chooser)) continue;
        events.push_back(
            {.what = Event::Do::agree, .lane = task.lane, .microbatch = task.microbatch});
      }
    }
  }
}

std::vector<Event> GroupMachine::enabled(const State& state, Chooser chooser) const {
  std::vector<Event> events;
  for (int member = 0; member < members_; ++member) {
    const Machine::State& own = at(state.members, member);
    // On a governed engine the log decides, not the member's own choice.
    std::vector<Event> all = machine_.enabled(own, chooser);
    for (std::size_t engine = 0; engine < governed_.size(); ++engine) {
      const auto next = static_cast<std::size_t>(own.position[engine]);
      if (!governed_[engine] || next >= state.agreed[engine].size()) continue;
      const Task& task = state.agreed[engine][next];
      const Event start{.what = Event::Do::start, .lane = task.lane, .microbatch = task.microbatch};
      if (std::find(all.begin(), all.end(), start) == all.end()) all.push_back(start);
    }
    for (Event& event : all) {
      event.member = member;
      if (member_may(state, event, chooser)) events.push_back(event);
    }
  }
  add_agreements(state, chooser, events);
  return events;
}

bool GroupMachine::is_enabled(const State& state, const Event& event, Chooser chooser) const {
  const bool is_task = event.lane >= 0 && event.lane < static_cast<int>(program().lanes.size()) &&
                       event.microbatch >= 0 && event.microbatch < machine_.microbatches();
  if (!is_task || event.member < 0 || event.member >= members_) return false;
  if (event.what != Event::Do::agree) return member_may(state, event, chooser);
  return event.microbatch < program().tasks_of(event.lane, machine_.microbatches()) &&
         may_agree(state, {event.lane, event.microbatch}, chooser);
}

void GroupMachine::step(State& state, const Event& event) const {
  if (event.what != Event::Do::agree) {
    machine_.step(state.members[static_cast<std::size_t>(event.member)], event);
    return;
  }
  const Lane& lane = at(program().lanes, event.lane);
  state.agreed[engine_index(lane.rank, lane.engine)].push_back({event.lane, event.microbatch});
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
  return "member " + std::to_string(event.member) + ": " + machine_.describe(event);
}

}  // namespace ripeline::spec
