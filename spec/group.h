// GroupMachine: executes a program whose ranks have several members each, for tensor parallelism,
// and which several replicas of the pipeline run together, for data parallelism.
//
// The rules, beyond those of spec/program.h:
//  * Each member is a machine of its own (spec/machine.h): member i of a rank exchanges messages
//    with member i of the other ranks of its replica, and has links, slots and pools of its own. A
//    group of one member is the same as Machine.
//  * A task with collectives ends at a member only after it has started at every member of its
//    replica. A reduction, that is a task of an op `reduce` if there are several replicas, ends at
//    a replica only after it has started at every replica; member i meets member i of the others.
//  * With the dispatch `ready` two kinds of engines of a rank are *governed*: every start there
//    needs an agreement. On an engine with lanes that have collectives, the members agree, as the
//    program says; on an engine with reductions, and with nothing else, the replicas agree, by
//    intersection. On other engines each member starts what its own dispatch chooses.
//  * The members or replicas that agree share a log of the agreed tasks, one per round. Each starts
//    the tasks in the order of the log, each once it may start. The next entry of the log is, with
//      - intersection: a task that may start at all of them, once all have started all entries; the
//        hint chooses it, but replicas take the first by op, as declared, then by stage from the
//        last to the first, then by microbatch;
//      - vote: the task that the hint of every member chooses from the tasks that may start there,
//        once every member has started all entries, if all hints choose the same task;
//      - leader: the task that the hint chooses from the tasks that may start at member 0, once
//        member 0 has started all entries;
//      - none: there is no log, and members govern no engine.
//  * The group sticks when no event is possible at any member and not every task has ended.
//
// Executors decide on snapshots, which may be old, by a protocol of numbered rounds. The meaning is
// the same: while an engine starts nothing, tasks that may start on it remain able to start, so an
// old snapshot is what a member sees if all later arrivals are delayed (docs/meaning.md says when).
// With `intersection` the hint uses the turn of member 0. All members have the same turn, unless a
// hint by `rounds`, or one that follows an order and fills, lists ops of several engines of a rank.
// Turns of replicas do differ, so replicas agree without the hint.
//
// Member i of replica d has the number d * (members per replica) + i. A state is a value. The
// program must outlive the machine; one thread.
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
    std::vector<Machine::State> members;    // the members of all replicas
    std::vector<std::vector<Task>> agreed;  // the logs, by log_index()
    bool operator==(const State&) const = default;
  };
  // The `size` processes that agree on an engine, or end a task together: first, first + step, …
  struct Team {
    int first = 0;
    int step = 1;
    int size = 1;
  };

  // `members` and `replicas` replace the program's own numbers; both must be at least 1.
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
  // The processes with which `member` agrees on starts on the engine, which must be governed.
  [[nodiscard]] Team team(int rank, Engine engine, int member) const;
  [[nodiscard]] std::size_t log_index(int rank, Engine engine, int member) const;
  // The tasks that may start on the engine at a member, even if they are not next in the log.
  [[nodiscard]] std::vector<Task> ready(const Machine::State& state, int rank, Engine engine) const;

  // All events that may happen next. An `agree` event names the first process of its team.
  [[nodiscard]] std::vector<Event> enabled(const State& state, Chooser chooser) const;
  [[nodiscard]] bool is_enabled(const State& state, const Event& event, Chooser chooser) const;
  // Carries the event out; the caller has checked that it is enabled.
  void step(State& state, const Event& event) const;
  // The events of a run of one replica, repeated by all replicas, with the agreements they need.
  [[nodiscard]] std::vector<Event> by_all_replicas(const std::vector<Event>& of_one) const;

  [[nodiscard]] bool done(const State& state) const;
  // True if nothing is enabled under the program's own dispatch, and not all is done. With `vote` a
  // group may be stuck although tasks may start, since members may choose differently for ever.
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
