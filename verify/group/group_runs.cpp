#include "verify/group/group_runs.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "verify/states/explain.h"
#include "verify/states/hunt.h"

namespace ripeline::verify {

using spec::Engine;
using spec::Event;
using spec::GroupMachine;
using spec::Machine;
using spec::Task;
using Chooser = spec::Machine::Chooser;

std::vector<Event> in_step(const GroupMachine& group, const std::vector<Event>& of_one) {
  std::vector<Event> events;
  for (const Event& event : of_one) {
    const spec::Lane& lane = at(group.program().lanes, event.lane);
    if (event.what == Event::Do::start && group.governs(lane.rank, lane.engine)) {
      events.push_back(
          {.what = Event::Do::agree, .lane = event.lane, .microbatch = event.microbatch});
    }
    for (int member = 0; member < group.members(); ++member) {
      events.push_back(event);
      events.back().member = member;
    }
  }
  return events;
}

std::optional<GroupMachine::State> replayed(const GroupMachine& group, Chooser chooser,
                                            const std::vector<Event>& events) {
  GroupMachine::State state = group.initial();
  for (const Event& event : events) {
    if (!group.is_enabled(state, event, chooser)) return std::nullopt;
    group.step(state, event);
  }
  return state;
}

void run_out(const GroupMachine& group, GroupMachine::State& state, std::vector<Event>& events) {
  while (true) {
    const std::vector<Event> next = group.enabled(state, Chooser::dispatch);
    if (next.empty()) return;
    group.step(state, next.front());
    events.push_back(next.front());
  }
}

std::vector<BlockedTask> waits_of_group(const GroupMachine& group,
                                        const std::vector<Event>& events) {
  const auto state = replayed(group, Chooser::any, events);
  std::vector<BlockedTask> found;
  if (!state) return found;
  for (int member = 0; member < group.members(); ++member) {
    const Machine::State& own = at(state->members, member);
    for (int rank = 0; rank < group.program().ranks; ++rank) {
      for (const Engine engine : spec::kAllEngines) {
        for (const Task& task : group.ready(own, rank, engine)) {
          found.push_back({task.lane, task.microbatch, {}, "all members to agree on it", member});
        }
      }
    }
  }
  for (int member = 0; member < group.members(); ++member) {
    std::vector<Event> own;
    for (const Event& event : events) {
      if (event.what != Event::Do::agree && event.member == member) own.push_back(event);
    }
    for (BlockedTask wait : waits_after(group.member(), own)) {
      wait.member = member;
      found.push_back(std::move(wait));
    }
  }
  return found;
}

namespace {

std::string names(const spec::Program& program, const std::vector<Task>& tasks) {
  if (tasks.empty()) return "nothing";
  std::string text = program.task_name(tasks.front().lane, tasks.front().microbatch);
  for (std::size_t i = 1; i < tasks.size(); ++i) {
    text += (i + 1 == tasks.size() ? " or " : ", ") +
            program.task_name(tasks[i].lane, tasks[i].microbatch);
  }
  return text;
}

// The tasks that members may start on the engine, each different set once; empty if there are none.
std::string differences(const GroupMachine& group, const GroupMachine::State& state, int rank,
                        Engine engine) {
  std::vector<std::vector<Task>> seen;
  std::string text;
  bool any = false;
  for (int member = group.members(); member-- > 0;) {
    std::vector<Task> own = group.ready(at(state.members, member), rank, engine);
    const bool alike = member > 0 && std::find(seen.begin(), seen.end(), own) != seen.end();
    if (alike) continue;
    any = any || !own.empty();
    text = fmt::format("member {} may start {}", member, names(group.program(), own)) +
           (text.empty() ? "" : ", ") + text;
    seen.push_back(std::move(own));
  }
  return any ? text : "";
}

}  // namespace

std::string why_stuck(const GroupMachine& group, const GroupMachine::State& state) {
  const spec::Program& program = group.program();
  const Machine& machine = group.member();
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    for (int m = 0; m < program.tasks_of(lane, machine.microbatches()); ++m) {
      for (int other = group.members(); other-- > 1;) {
        const bool behind = machine.has_started(state.members.front(), lane, m) &&
                            !machine.has_started(at(state.members, other), lane, m);
        if (!behind) continue;
        return fmt::format(
            "Member 0 has started {0}; member {1} cannot: other messages have the slots that those "
            "of {0} wait for.",
            program.task_name(lane, m), other);
      }
    }
  }
  for (int rank = 0; rank < program.ranks; ++rank) {
    for (const Engine engine : spec::kAllEngines) {
      if (!group.governs(rank, engine)) continue;
      const std::string text = differences(group, state, rank, engine);
      if (text.empty()) continue;
      return fmt::format(
          "The members of rank {} hold different messages in their slots and never agree: {}.",
          rank, text);
    }
  }
  return "Not all tasks have run, and none may start.";
}

}  // namespace ripeline::verify
