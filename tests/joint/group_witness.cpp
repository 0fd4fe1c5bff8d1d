#include "tests/joint/group_witness.h"

#include <algorithm>

namespace ripeline::joint {

using spec::Event;
using Chooser = spec::Machine::Chooser;

GroupWitness::GroupWitness(const spec::Program& program, int microbatches)
    : program_(program),
      machine_(program, microbatches, program.tensor_parallel.members,
               program.data_parallel.replicas) {}

void GroupWitness::begins(std::int64_t step) {
  while (std::ssize(steps_) <= step) {
    Step& made = steps_.emplace_back(Step{machine_.initial(), {}});
    made.words.resize(made.state.agreed.size());
    for (auto& words : made.words) words.resize(made.state.members.size());
  }
}

void GroupWitness::fail(std::int64_t step, const std::string& what) {
  if (problem_.empty()) problem_ = "in step " + std::to_string(step) + " " + what;
}

void GroupWitness::ballot(std::int64_t step, int rank, int member, const core::Ballot& ballot) {
  Step& of = steps_[static_cast<std::size_t>(step)];
  of.words[machine_.log_index(rank, ballot.engine, member)][static_cast<std::size_t>(member)] =
      at(of.state.members, member);
}

void GroupWitness::agree(std::int64_t step, const Event& start) {
  Step& of = steps_[static_cast<std::size_t>(step)];
  const spec::Lane& lane = at(program_.lanes, start.lane);
  const spec::GroupMachine::Team team = machine_.team(lane.rank, lane.engine, start.member);
  const Event agree{.what = Event::Do::agree,
                    .lane = start.lane,
                    .microbatch = start.microbatch,
                    .member = team.first};
  const bool leads =
      program_.tensor_parallel.agree == spec::Agree::leader && !program_.reduces(start.lane);
  if (!machine_.is_enabled(of.state, agree, Chooser::any)) {
    return fail(step, "the group may not " + machine_.describe(agree));
  }
  spec::GroupMachine::State then = of.state;
  const auto& words = of.words[machine_.log_index(lane.rank, lane.engine, start.member)];
  for (int i = 0; i < team.size && !leads; ++i) {
    const auto member = static_cast<std::size_t>(team.first + i * team.step);
    if (!words[member]) return fail(step, "a member has started without all ballots");
    then.members[member] = *words[member];
  }
  if (!machine_.is_enabled(then, agree, Chooser::dispatch)) {
    return fail(step, "the dispatch does not " + machine_.describe(agree));
  }
  machine_.step(of.state, agree);
  ++agreements_;
}

void GroupWitness::happens(std::int64_t step, int member, Event event) {
  if (!problem_.empty()) return;
  event.member = member;
  Step& of = steps_[static_cast<std::size_t>(step)];
  const spec::Lane& lane = at(program_.lanes, event.lane);
  if (event.what == Event::Do::start && machine_.governs(lane.rank, lane.engine)) {
    const std::size_t engine = spec::engine_index(lane.rank, lane.engine);
    const std::size_t log = machine_.log_index(lane.rank, lane.engine, member);
    const auto position = static_cast<std::size_t>(at(of.state.members, member).position[engine]);
    if (position == of.state.agreed[log].size()) agree(step, event);
    if (!problem_.empty()) return;
  }
  const bool governed = event.what == Event::Do::start && machine_.governs(lane.rank, lane.engine);
  const bool waits = program_.dispatch.hint.patience.has_value();
  const Chooser chooser = governed || waits ? Chooser::any : Chooser::dispatch;
  if (!machine_.is_enabled(of.state, event, chooser)) {
    return fail(step, "the machine does not: " + machine_.describe(event));
  }
  machine_.step(of.state, event);
  ++events_;
}

bool GroupWitness::is_done(int steps) const {
  return std::ssize(steps_) == steps &&
         std::all_of(steps_.begin(), steps_.end(),
                     [&](const auto& s) { return machine_.done(s.state); });
}

bool GroupWitness::is_stuck() const {
  const auto first = std::find_if(steps_.begin(), steps_.end(),
                                  [&](const Step& s) { return !machine_.done(s.state); });
  return first != steps_.end() && machine_.stuck(first->state);
}

std::int64_t GroupWitness::held(std::int64_t step, int member, int pool) const {
  return at(at(of(step).state.members, member).held, pool);
}

bool GroupWitness::may_end(std::int64_t step, int member, const core::Task& task) const {
  const Event end{
      .what = Event::Do::end, .lane = task.lane, .microbatch = task.microbatch, .member = member};
  return machine_.is_enabled(of(step).state, end, Chooser::any);
}

}  // namespace ripeline::joint
