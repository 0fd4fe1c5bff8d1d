// GroupSearch: searches for runs of a tensor-parallel group in which members act
// differently, for one microbatch count. It visits the states in which all members
// are alike breadth first, one task at a time, with as few arrivals as each start
// needs (see verify/states/task_moves.h). In each state the search asks whether
// members that have different messages can part, that is, start different collectives
// or never agree. A result is a run of spec::GroupMachine under the program's own
// dispatch, the shortest first. If there is no result, nothing is known.
// Deterministic; one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "spec/indexing.h"
#include "verify/group/group_runs.h"
#include "verify/states/budget.h"
#include "verify/states/run.h"

namespace ripeline::verify {

struct GroupRun {
  std::vector<spec::Event> events;
  std::string reason;
};

class GroupSearch {
 public:
  GroupSearch(const spec::GroupMachine& group, Budget& budget);

  // A run, without agreement, in which two members start different collectives on one engine.
  [[nodiscard]] std::optional<GroupRun> parting();
  // A run, with bounded links, in which members that hold different messages stick.
  [[nodiscard]] std::optional<GroupRun> sticking();

 private:
  using State = spec::Machine::State;
  struct Move {
    Task task;
    std::vector<spec::Event> arrivals;  // the arrivals that the task's start waits for
  };
  // Finds a run that members can make from a state in which they are alike, or nullopt.
  using Look = std::function<std::optional<GroupRun>(const State&, const std::vector<Move>&)>;
  class Alike;
  // Arrivals at one rank of one member. After these, nothing more can arrive at this rank.
  struct Fill {
    std::vector<spec::Event> arrivals;
    State after;
  };

  [[nodiscard]] std::optional<GroupRun> explore(const Look& look);
  [[nodiscard]] std::vector<Move> moves(const State& state) const;
  [[nodiscard]] std::optional<std::vector<spec::Event>> deliveries(const State& state,
                                                                   const Task& task) const;
  [[nodiscard]] std::vector<Fill> fills(const State& state, int rank);
  void fill(const Fill& now, int rank, std::vector<Fill>& found);
  [[nodiscard]] spec::GroupMachine::State alike(const State& state) const;
  [[nodiscard]] bool disagree(const std::vector<const Fill*>& members, int rank) const;
  [[nodiscard]] std::vector<const Fill*> parted(const std::vector<Fill>& ways, int rank) const;
  [[nodiscard]] std::optional<GroupRun> stuck_after(const State& state);

  const spec::GroupMachine& group_;
  const spec::Machine& machine_;
  const spec::Program& program_;
  Budget& budget_;
};

}  // namespace ripeline::verify
