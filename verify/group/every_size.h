// EverySize: whether a tensor-parallel group sticks, for one microbatch count and any number of
// members at once.
//
// Members are coupled by agreements and by the ends of collectives alone, which all do together;
// what one does between two of these is its own affair. So after a sequence of them T members can
// be in any T of the states that one member can be in after it. visit() goes through the sets of
// such states, with every choice among what may start, and looks in each for the fewest members
// that have nothing in common to go on with. docs/proofs.md, Collectives, has the argument.
//
// With an agreement only, and where one member's pools are acquired on one engine each. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_set>
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
    // Of as many members as the group has, if so many stick: to a state in which they do. Choices
    // may be others than the dispatch's.
    std::vector<spec::Event> run;
  };
  // Stops at the first set in which the group's own number of members sticks.
  [[nodiscard]] Result visit();

 private:
  using State = spec::Machine::State;
  struct Local {
    State state;
    std::vector<spec::Task> due;  // agreed on and not started, in order
  };
  // What all members do together.
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
  struct Entry {
    Local local;
    std::size_t from = 0;             // the entry of the set before
    std::vector<spec::Event> events;  // what the member did since
  };
  using Set = std::vector<Entry>;
  struct Node {
    Set leader;  // of `agree by leader`: of member 0; else empty
    Set others;
    std::size_t before = 0;
    Action action = {};  // after which
  };
  // Members with the fewest actions in common: entries of a node's sets, the leader's first.
  struct Common {
    Actions actions;
    std::vector<std::size_t> who;
  };

  [[nodiscard]] bool leads() const;
  [[nodiscard]] bool is_due(const Local& local, const spec::Lane& lane) const;
  [[nodiscard]] bool goes_first(const spec::Event& event) const;
  [[nodiscard]] std::vector<spec::Event> moves(const Local& local) const;
  void do_locally(Local& local, const spec::Event& event) const;
  [[nodiscard]] std::string key_of(const Local& local) const;
  void close(Set& set);
  [[nodiscard]] Actions actions(const Local& local, bool agrees) const;
  [[nodiscard]] Actions last_actions(const Local& local, bool agrees) const;
  [[nodiscard]] Set after(const Set& set, const Action& action, bool agrees);
  [[nodiscard]] std::optional<Common> stuck(const Node& node) const;
  [[nodiscard]] std::vector<Action> next_of(const Node& node) const;
  void add(Node node);
  void expand(std::size_t i);
  [[nodiscard]] std::vector<spec::Event> run_to(std::size_t i, const Common& stuck) const;

  const spec::GroupMachine& group_;
  const spec::Machine& machine_;
  const spec::Program& program_;
  Budget& budget_;
  bool spent_ = false;
  std::vector<Node> nodes_;
  std::unordered_set<std::string> seen_;
};

}  // namespace ripeline::verify
