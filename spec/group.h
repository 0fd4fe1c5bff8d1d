// GroupMachine: executes a program whose ranks have several members each, for tensor parallelism,
// and which several replicas of the pipeline run together, for data parallelism.
//
// The rules, beyond those of spec/program.h:
//  * Each member is a machine of its own (spec/machine.h): member i of a rank exchanges messages
//    with member i of the others of its replica, over links, with slots and in pools of its own. A
//    group of one member is Machine.
//  * A task with collectives ends at a member only after it has started at every member of its
//    replica. A reduction, which is a task of an op `reduce` of several replicas, ends at a replica
//    only after it has started at every one: member i of one meets members i of the others.
//  * With the dispatch `ready` two kinds of engines of a rank are *governed*: every start there
//    needs an agreement. On an engine on which some lane has collectives, the members agree, as
//    the program says; on one with reductions, and with nothing else, the replicas do, by
//    intersection. On other engines each member starts what its own dispatch chooses.
//  * Those that agree have a log: tasks agreed on, one per round. Each starts the log's tasks in
//    the log's order, each when it may. What the next entry is:
//      - intersection: once all have started all entries, a task that may start at all; which of
//        them is the hint's choice, or among replicas the first by op, as declared, then from the
//        last stage to the first, then by microbatch;
//      - vote: once every member has started all entries, what the hint chooses at every member
//        from what may start there, if that is one and the same task;
//      - leader: what the hint chooses at member 0 from what may start there, once member 0 has
//        started all entries;
//      - none: there is no log, and no engine is governed by members.
//  * The group sticks when nothing is left to happen at any member and not all has ended at all.
//
// A protocol of numbered rounds decides on snapshots, which may be old when it does. That is no
// other meaning: while an engine starts nothing, what may start there only grows, so an old
// snapshot is what the member would see if whatever came since had come later (docs/meaning.md says
// when). The hint of `intersection` is asked with member 0's turn; all have the same one, unless
// `rounds` lists ops of several engines of a rank, or a hint that follows an order and fills does.
// Turns of replicas do differ, which is why they agree without the hint.
//
// Member i of replica d is number d * (members of each) + i. A state is a value. The program must
// outlive it; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "spec/machine.h"

namespace ripeline::spec {

class GroupMachine {
 public:
  using Chooser = Machine::Chooser;

  struct State {
    std::vector<Machine::State> members;    // every replica's
    std::vector<std::vector<Task>> agreed;  // the logs, by log_index()
    bool operator==(const State&) const = default;
  };
  // Those that agree on an engine of a rank, or end a task together: numbers first, first + step, …
  struct Team {
    int first = 0;
    int step = 1;
    int size = 1;
  };

  // `members` and `replicas` stand for the program's own numbers, and are at least 1.
  GroupMachine(const Program& program, int microbatches, int members, int replicas = 1);

  [[nodiscard]] const Program& program() const { return machine_.program(); }
  [[nodiscard]] const Machine& member() const { return machine_; }
  [[nodiscard]] int members() const { return members_; }
  [[nodiscard]] int replicas() const { return replicas_; }
  [[nodiscard]] int all() const { return members_ * replicas_; }

  [[nodiscard]] State initial() const;
  [[nodiscard]] bool governs(int rank, Engine engine) const {
    return governed_[engine_index(rank, engine)] != Governed::by_nobody;
  }
  // With whom `member` agrees on what starts on the engine; of one that is governed.
  [[nodiscard]] Team team(int rank, Engine engine, int member) const;
  [[nodiscard]] std::size_t log_index(int rank, Engine engine, int member) const;
  // The tasks that may start on the engine at a member, whatever the log says.
  [[nodiscard]] std::vector<Task> ready(const Machine::State& state, int rank, Engine engine) const;

  // Everything that may happen next. `agree` names the first of its team.
  [[nodiscard]] std::vector<Event> enabled(const State& state, Chooser chooser) const;
  [[nodiscard]] bool is_enabled(const State& state, const Event& event, Chooser chooser) const;
  // Does it; the caller has checked that it is enabled.
  void step(State& state, const Event& event) const;
  // Each event of a run of one replica, made by all of them, with the agreements that this takes.
  [[nodiscard]] std::vector<Event> by_all_replicas(const std::vector<Event>& of_one) const;

  [[nodiscard]] bool done(const State& state) const;
  // Nothing is enabled under the program's own dispatch, and not all is done. Of `vote` this is
  // more than that no choice is left: members may choose differently for ever.
  [[nodiscard]] bool stuck(const State& state) const;

  [[nodiscard]] std::string describe(const Event& event) const;  // member 1: start 2F0

 private:
  enum class Governed : std::uint8_t { by_nobody, by_members, by_replicas };

  [[nodiscard]] Team members_of(int member) const {
    return {member / members_ * members_, 1, members_};
  }
  [[nodiscard]] Team replicas_of(int member) const {
    return {member % members_, members_, replicas_};
  }
  [[nodiscard]] bool all_have(const State& state, const Team& team, const Task& task,
                              bool may_start) const;
  [[nodiscard]] bool may_end(const State& state, const Event& event) const;
  [[nodiscard]] bool round_is_open(const State& state, int rank, Engine engine,
                                   const Team& team) const;
  [[nodiscard]] Task chosen(const State& state, int member, int rank, Engine engine) const;
  [[nodiscard]] bool is_first_reduction(const State& state, const Team& team,
                                        const Task& task) const;
  [[nodiscard]] bool may_agree(const State& state, const Event& event, Chooser chooser) const;
  [[nodiscard]] bool member_may(const State& state, const Event& event, Chooser chooser) const;
  void add_agreements(const State& state, Chooser chooser, std::vector<Event>& events) const;

  Machine machine_;
  int members_;
  int replicas_;
  std::vector<Governed> governed_;  // per rank and engine
};

}  // namespace ripeline::spec
