// GroupWitness: sees all that the members of all ranks and replicas do, and checks it against
// spec/group.h, whose member numbers it uses.
//
// Each start, end and arrival must be one that GroupMachine enables at that time. A task that a
// member starts as the first in a round must be one on which GroupMachine can agree at that moment,
// both under some choice and under the program's own dispatch. For the latter, each member is in
// the state of its last ballot, by the rule of docs/meaning.md for decisions on old information.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/agreement.h"
#include "spec/group.h"

namespace ripeline::joint {

class GroupWitness {
 public:
  // The program is borrowed and must live longer than the witness.
  GroupWitness(const spec::Program& program, int microbatches);

  void begins(std::int64_t step);
  void happens(std::int64_t step, int member, spec::Event event);
  // Called when the member publishes a ballot.
  void ballot(std::int64_t step, int rank, int member, const core::Ballot& ballot);
  // Whether the member runs the task, and no other member prevents the end of the task.
  [[nodiscard]] bool may_end(std::int64_t step, int member, const core::Task& task) const;

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] bool is_done(int steps) const;
  // Whether the machine is stuck in the first step that has not ended.
  [[nodiscard]] bool is_stuck() const;
  [[nodiscard]] std::int64_t held(std::int64_t step, int member, int pool) const;

  [[nodiscard]] std::int64_t events() const { return events_; }
  [[nodiscard]] std::int64_t agreements() const { return agreements_; }

 private:
  using MachineState = spec::Machine::State;
  struct Step {
    spec::GroupMachine::State state;
    // Per log, by member: the member's state at its last ballot.
    std::vector<std::vector<std::optional<MachineState>>> words;
  };
  [[nodiscard]] const Step& of(std::int64_t step) const {
    return steps_[static_cast<std::size_t>(step)];
  }
  void agree(std::int64_t step, const spec::Event& start);
  void fail(std::int64_t step, const std::string& what);

  const spec::Program& program_;
  spec::GroupMachine machine_;
  std::vector<Step> steps_;
  std::string problem_;
  std::int64_t events_ = 0;
  std::int64_t agreements_ = 0;
};

}  // namespace ripeline::joint
