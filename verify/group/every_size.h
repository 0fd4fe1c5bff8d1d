// EverySize: whether a tensor-parallel group sticks, for one microbatch count and any number of
// members at once.
//
// Members take *actions* together: agreements and the ends of tasks with collectives. Between two
// actions each member acts alone. So after a sequence of actions, T members can be in any T of the
// states in which one member can be after the same actions. visit() visits the sets of
// such states, for every choice among the tasks that may start, and looks in each set for the
// fewest members that have no next action in common. docs/proofs.md, Collectives, has the argument.
//
// Requires an agreement, and that each pool of a member is acquired on one engine only. One thread.
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
    bool complete = false;  // true if every set was visited
    int fewest = 0;         // members of the smallest group found to stick; 0 if none
    // A run of a group of the program's size to a state in which its members stick; empty if none
    // was found. The choices in the run may differ from those of the dispatch.
    std::vector<spec::Event> run;
  };
  // Visits the sets; stops at the first set in which a group of the program's size sticks.
  [[nodiscard]] Result visit();

 private:
  using State = spec::Machine::State;
  struct Local {
    State state;
    std::vector<spec::Task> due;  // agreed on but not started, in order
  };
  // An action that all members take together.
  struct Action {
    enum class Do : std::uint8_t {
      agree,  // on a task
      end,    // the end of a task with collectives
      rest,   // nothing, since all have done everything
    };
    Do what = Do::agree;
    spec::Task task = {};
    [[nodiscard]] auto key() const { return std::tuple{what, task.lane, task.microbatch}; }
    bool operator<(const Action& other) const { return key() < other.key(); }
    bool operator==(const Action& other) const { return key() == other.key(); }
  };
  using Actions = std::vector<Action>;  // sorted
  // How a member reached its state.
  struct Trail {
    std::size_t from = 0;             // index of the member's entry in the previous set
    std::vector<spec::Event> events;  // the member's own events since that entry
  };
  struct Entry {
    Local local;
    Trail trail;
  };
  using Set = std::vector<Entry>;
  struct Sets {
    Set leader;  // the entries of member 0, for `agree by leader`; else empty
    Set others;
  };
  struct Trails {
    std::vector<Trail> leader;
    std::vector<Trail> others;
  };
  // Members that stick, as indices of entries in the sets, the leader's index first.
  using Members = std::vector<std::size_t>;
  // The spaces that explorers visit: the states of one member by itself, the lists of actions that
  // members have in common, and the pairs of sets.
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
