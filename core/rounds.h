// Rounds: an agreement by ballots of all, `intersection` and `vote`, of the members of a rank or of
// its replicas. What is said of members holds of replicas, who agree by intersection.
//
// In a round each member gives a ballot once something may start there: with `intersection` all
// that may, with `vote` what its own hint would choose. When all ballots of an attempt are there,
// what they have in common is the same for all members, and the hint's choice of it is what starts
// next; of replicas, whose hints are at different turns, the first by op, as declared, then from
// the last stage to the first, then by microbatch. If they have nothing in common, the round has
// another attempt: it begins with a member to which something has happened that changes its ballot,
// and the others answer. Its number keeps old and new ballots apart, which may overtake each other:
// a decision on some of each would differ from member to member.
//
// So there are at most as many attempts as changes, and one at a time. A member is at most one
// ballot ahead of another: its next one follows from theirs.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/agreement.h"

namespace ripeline::core {

class Rounds final : public Agreement {
 public:
  // On the engines that `who` governs. Of members, the facts say `intersection` or `vote`. The
  // facts must outlive it.
  Rounds(const ProgramFacts& facts, const Coordinates& self, Agreeing::Who who);

  void begin_step(int microbatches) override;
  Decision choose(const Arbiter& arbiter, Engine engine, Time now) override;
  void started(Task task) override;
  [[nodiscard]] int waits_for(Engine engine) const override;
  Status heard(int member, const Ballot& ballot) override;

 private:
  struct Member {
    bool here = false;   // its ballot of this attempt counts already
    bool ahead = false;  // `next` has come, which is of the next attempt or round
    Ballot next;
  };
  // The state of a governed engine.
  struct Table {
    std::int32_t rounds = 0;  // in the step: one for each task
    std::int32_t round = 0;
    std::int32_t attempt = 0;
    TaskSet tasks;      // all of the engine
    bool cast = false;  // the own ballot of this attempt
    Ballot own;         // the last one
    int ballots = 0;    // cast in this attempt, the own one among them
    TaskSet common;     // to all of these
    std::vector<Member> members;
  };

  [[nodiscard]] std::unique_ptr<Table>& table(Engine engine) {
    return tables_[static_cast<std::size_t>(engine)];
  }
  void begin_attempt(Table& table, std::int32_t round, std::int32_t attempt);
  // Counts those of this attempt that came ahead of it. Not ok: one is of none that is to come.
  Status take_waiting(Table& table);
  // Whether it has something to say.
  bool cast(Table& table, const Arbiter& arbiter, Time now);
  static void count(Table& table, const TaskSet& tasks);
  [[nodiscard]] Task first_reduction(const TaskSet& common) const;
  [[nodiscard]] bool of_replicas() const { return who_ == Agreeing::Who::replicas; }

  const ProgramFacts& facts_;
  Coordinates self_;
  Agreeing::Who who_;
  std::array<std::unique_ptr<Table>, kEngines> tables_;  // null: not governed by these
  TaskSet word_;                                         // scratch of cast()
  Status failure_;
};

}  // namespace ripeline::core
