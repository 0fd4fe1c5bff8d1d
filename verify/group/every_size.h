// EverySize: whether a tensor-parallel group sticks, for one microbatch count and any number of
// members at once.
//
// Members are coupled only by agreements and by the ends of collectives, which all of them do
// together; between two such actions each acts alone. So after a sequence of actions, T members can
// be in any T of the states that one member can be in after it. visit() goes through the sets of
// such states, for every choice among the tasks that may start, and looks in each set for the
// fewest members that have no next action in common. docs/proofs.md, Collectives, has the argument.
//
// It needs an agreement, and each pool of a member acquired on one engine only. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "spec/group.h"
#include "spec/indexing.h"
#include "verify/states/budget.h"

namespace ripeline::verify {

class EverySize {
 public:
  EverySize(const spec::GroupMachine& group, Budget& budget);

  struct Result {
    bool complete = false;  // every set was visited
    int fewest = 0;         // members of the smallest group found to stick; 0: none
    // A run to a state in which members stick, with as many members as the group has; empty if no
    // run of that many was found to stick. Its choices may differ from the dispatch's.
    std::vector<spec::Event> run;
  };
  // Visits the sets; stops at the first in which the group's own number of members sticks.
  [[nodiscard]] Result visit();

 private:
  using State = spec::Machine::State;
  struct Local {
    State state;
    std::vector<spec::Task> due;  // agreed on and not started, in order
  };
  // An action that all members take together.
  struct Action {
    enum class Do : std::uint8_t {
      agree,  // on a task
      end,    // a task with collectives
      rest,   // nothing, for all have done everything
    };
    Do what = Do::agree;
    spec::Task task = {};
    [[nodiscard]] auto key() const { return std::tuple{what, task.lane, task.microbatch}; }
    bool operator<(const Action& other) const { return key() < other.key(); }
    bool operator==(const Action& other) const { return key() == other.key(); }
  };
  using Actions = std::vector<Action>;  // sorted
  // The way in which a member came to its state.
  struct Trail {
    std::size_t from = 0;             // the entry of the set before
    std::vector<spec::Event> events;  // its own events since then
  };
  struct Entry {
    Local local;
    Trail trail;
  };
  using Set = std::vector<Entry>;
  struct Sets {
    Set leader;  // member 0's, with `agree by leader`; else empty
    Set others;
  };
  struct Trails {
    std::vector<Trail> leader;
    std::vector<Trail> others;
  };
  // Members that stick, as indices of entries in the sets: the leader's first.
  using Members = std::vector<std::size_t>;
  // The spaces that explorers go through: the states of one member by itself, the lists of actions
  // that members have in common, and the pairs of sets.
  class Alone;
  class InCommon;
  class AllTogether;

  [[nodiscard]] bool leads() const;
  [[nodiscard]] bool is_due(const Local& local, const spec::Lane& lane) const;
  [[nodiscard]] bool goes_first(const spec::Event& event) const;
  [[nodiscard]] std::vector<spec::Event> moves(const Local& local) const;
  void do_locally(Local& local, const spec::Event& event) const;
  [[nodiscard]] std::string key_of(const Local& local) const;
  [[nodiscard]] Set closed(Set set);
  [[nodiscard]] Actions actions(const Local& local, bool agrees) const;
  [[nodiscard]] Actions last_actions(const Local& local, bool agrees) const;
  [[nodiscard]] std::map<Actions, std::size_t> last_actions_of(const Set& set, bool agrees) const;
  [[nodiscard]] Set after(const Set& set, const Action& action, bool agrees);
  [[nodiscard]] std::optional<Members> stuck(const Sets& sets) const;
  [[nodiscard]] std::vector<Action> next_of(const Sets& sets) const;
  [[nodiscard]] std::vector<spec::Event> run_of(const std::vector<const Trails*>& path,
                                                const std::vector<Action>& actions,
                                                const Members& stuck) const;

  const spec::GroupMachine& group_;
  const spec::Machine& machine_;
  const spec::Program& program_;
  Budget& budget_;
  std::uint64_t cost_;  // per state of one member
};

}  // namespace ripeline::verify
