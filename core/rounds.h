// Rounds: an agreement in which all processes give ballots, with `intersection` or `vote` among the
// members of a rank, or intersection among its replicas. Statements about members hold for
// replicas, too.
//
// In a round each member gives a ballot once a task may start there: with `intersection` all tasks
// that may start, with `vote` the task that its own hint would choose. Once all ballots of an
// attempt have arrived, all members know the same common tasks, and the one that the hint chooses
// starts next. Replicas, whose hints may be at different turns, take the first by op, as declared,
// then by stage from the last to the first, then by microbatch. If the ballots have no common task,
// the round has another attempt. A member whose ballot has changed begins it, and the others
// answer. Ballots may overtake each other, so the attempt's number tells old ballots from new ones.
//
// So there are at most as many attempts as changes of ballots, one at a time. A member is at most
// one ballot ahead of another, since its next ballot depends on the ballots of all others.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/agreement.h"

namespace ripeline::core {

class Rounds final : public Agreement {
 public:
  // The agreement on engines that `who` governs. Among members, the facts must name `intersection`
  // or `vote`. The facts must outlive this object.
  Rounds(const ProgramFacts& facts, const Coordinates& self, Agreeing::Who who);

  void begin_step(int microbatches) override;
  Decision choose(const Arbiter& arbiter, Engine engine, Time now) override;
  void started(Task task) override;
  [[nodiscard]] int waits_for(Engine engine) const override;
  Status heard(int member, const Ballot& ballot) override;

 private:
  struct Member {
    bool here = false;   // its ballot of this attempt is counted already
    bool ahead = false;  // `next`, a ballot of the next attempt or round, has arrived
    Ballot next;
  };
  // The state of a governed engine.
  struct Table {
    std::int32_t rounds = 0;  // rounds in the step: one for each task
    std::int32_t round = 0;
    std::int32_t attempt = 0;
    TaskSet tasks;      // all tasks of the engine
    bool cast = false;  // this process's ballot of this attempt is cast
    Ballot own;         // this process's last ballot
    int ballots = 0;    // ballots of this attempt, the own one included
    TaskSet common;     // the tasks that all these ballots have
    std::vector<Member> members;
  };

  [[nodiscard]] std::unique_ptr<Table>& table(Engine engine) {
    return tables_[static_cast<std::size_t>(engine)];
  }
  void begin_attempt(Table& table, std::int32_t round, std::int32_t attempt);
  // Counts early ballots of this attempt. Fails if one is of an attempt that cannot come next.
  Status take_waiting(Table& table);
  // Casts this process's ballot; returns false if there is nothing new to publish.
  bool cast(Table& table, const Arbiter& arbiter, Time now);
  static void count(Table& table, const TaskSet& tasks);
  [[nodiscard]] Task first_reduction(const TaskSet& common) const;
  [[nodiscard]] bool of_replicas() const { return who_ == Agreeing::Who::replicas; }

  const ProgramFacts& facts_;
  Coordinates self_;
  Agreeing::Who who_;
  std::array<std::unique_ptr<Table>, kEngines> tables_;  // null if not governed by `who_`
  TaskSet word_;                                         // scratch of cast()
  Status failure_;
};

}  // namespace ripeline::core
