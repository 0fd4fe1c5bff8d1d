// GroupMachine: executes a program whose ranks have several members each, for tensor parallelism.
//
// The rules, beyond those of spec/program.h:
//  * Each member is a machine of its own (spec/machine.h): member i of a rank exchanges messages
//    with member i of the others, over links, with slots and in pools of its own. A group of one
//    member is Machine.
//  * An engine of a rank on which some lane has collectives is *governed* if the dispatch is
//    `ready`: every start there needs an agreement. On other engines each member starts what its
//    own dispatch chooses.
//  * A governed engine has a log: tasks agreed on, one per round. A member starts the log's tasks
//    in the log's order, each when it may. What the next entry is:
//      - intersection: once every member has started all entries, a task that may start at every
//        member; which of them is the hint's choice;
//      - vote: once every member has started all entries, what the hint chooses at every member
//        from what may start there, if that is one and the same task;
//      - leader: what the hint chooses at member 0 from what may start there, once member 0 has
//        started all entries;
//      - none: there is no log, and no engine is governed.
//  * A task with collectives ends at a member only after it has started at every member.
//  * The group sticks when nothing is left to happen at any member and not all has ended at all.
//
// A protocol of numbered rounds decides on snapshots, which may be old when it does. That is no
// other meaning: while an engine starts nothing, what may start there only grows, so an old
// snapshot is what the member would see if whatever came since had come later (docs/meaning.md says
// when). The hint of `intersection` is asked with member 0's turn; all have the same one, unless
// `rounds` lists ops of several engines of a rank, or a hint that follows an order and fills does.
//
// A state is a value. The program must outlive it; one thread.
#pragma once

#include <string>
#include <vector>

#include "spec/machine.h"

namespace ripeline::spec {

class GroupMachine {
 public:
  using Chooser = Machine::Chooser;

  struct State {
    std::vector<Machine::State> members;
    std::vector<std::vector<Task>> agreed;  // per rank and engine: the log
    bool operator==(const State&) const = default;
  };

  // `members` stands for the program's own number of them, and is at least 1.
  GroupMachine(const Program& program, int microbatches, int members);

  [[nodiscard]] const Program& program() const { return machine_.program(); }
  [[nodiscard]] const Machine& member() const { return machine_; }
  [[nodiscard]] int members() const { return members_; }

  [[nodiscard]] State initial() const;
  [[nodiscard]] bool governs(int rank, Engine engine) const;
  // What may start on the engine at a member, whatever the log says.
  [[nodiscard]] std::vector<Task> ready(const Machine::State& state, int rank, Engine engine) const;

  // Everything that may happen next. `agree` is an event of no member in particular.
  [[nodiscard]] std::vector<Event> enabled(const State& state, Chooser chooser) const;
  [[nodiscard]] bool is_enabled(const State& state, const Event& event, Chooser chooser) const;
  // Does it; the caller has checked that it is enabled.
  void step(State& state, const Event& event) const;

  [[nodiscard]] bool done(const State& state) const;
  // Nothing is enabled under the program's own dispatch, and not all is done. Of `vote` this is
  // more than that no choice is left: members may choose differently for ever.
  [[nodiscard]] bool stuck(const State& state) const;

  [[nodiscard]] std::string describe(const Event& event) const;  // member 1: start 2F0

 private:
  [[nodiscard]] bool all_members_have(const State& state, const Task& task, bool may_start) const;
  [[nodiscard]] bool round_is_open(const State& state, std::size_t engine) const;
  [[nodiscard]] Task chosen(const State& state, int member, int rank, Engine engine) const;
  [[nodiscard]] bool may_agree(const State& state, const Task& task, Chooser chooser) const;
  [[nodiscard]] bool member_may(const State& state, const Event& event, Chooser chooser) const;
  void add_agreements(const State& state, Chooser chooser, std::vector<Event>& events) const;

  Machine machine_;
  int members_;
  std::vector<bool> governed_;  // per rank and engine
};

}  // namespace ripeline::spec
