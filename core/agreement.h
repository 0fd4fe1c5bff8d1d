// Agreement: what the members of a tensor-parallel group start, and in which order replicas of the
// pipeline reduce; between arbiter and executor.
//
// Members see arrivals at different times, and tasks with collectives must start in one order at
// all of them. An engine on which a rank has such tasks is governed: it has a log of tasks, one for
// each round of a step, and each member starts them in that order, each when it may. The same holds
// of reductions and replicas: ProgramFacts::agreeing() says by whom an engine is governed, and by
// how many. They settle what comes next by ballots, which each gives to the others; what they mean
// is in core/rounds.h and core/leader.h. On other engines each goes on alone. spec/group.h is what
// is proved of this.
//
// What is proved rests on this: while an engine starts nothing, what may start on it only grows,
// and the hint's turn stays. So a ballot that is old when it counts is still true. It holds unless
// a pool is taken from on several engines, or a hint's turn depends on them; of such programs
// nothing is proved. Reductions take from no pool that has a capacity, and replicas ask no hint.
//
// Belongs to its executor, and to its thread. No I/O. Memory is taken by begin_step() only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/arbiter.h"

namespace ripeline::core {

// The ballot of a member, or a replica, in a round, given to all others of its engine.
struct Ballot {
  Engine engine = Engine::compute;
  std::int32_t round = 0;    // how many tasks the engine has started in this step
  std::int32_t attempt = 0;  // within the round; earlier ones came to nothing
  TaskSet tasks;             // never empty
  bool operator==(const Ballot&) const = default;
};

class Agreement {
 public:
  struct Decision {
    bool decided = true;             // false: nothing may start before the group agrees
    Choice choice = {};              // if decided
    const Ballot* ballot = nullptr;  // to be given to all others; valid until the next choose()
    // Another member's ballot, which was kept, contradicts those that came since; null: none does.
    const Status* failure = nullptr;
  };

  virtual ~Agreement() = default;

  virtual void begin_step(int microbatches) = 0;
  // Decides what the engine, which may take a task, starts now, if anything.
  [[nodiscard]] virtual Decision choose(const Arbiter& arbiter, Engine engine, Time now) = 0;
  // `task` starts, which ends the round.
  virtual void started(Task task) = 0;
  // The member whose ballot is missing, by its number there, while nothing is decided; -1: none, or
  // it is not known.
  [[nodiscard]] virtual int waits_for(Engine /*engine*/) const { return -1; }
  // `member`, by its number among those that agree on the ballot's engine (Agreeing::number_of),
  // gave this ballot, in this step. One that does not fit is refused and changes nothing.
  virtual Status heard(int member, const Ballot& ballot) = 0;
};

// One that has nobody to agree with, or does not.
class OneMember final : public Agreement {
 public:
  void begin_step(int /*microbatches*/) override {}
  Decision choose(const Arbiter& arbiter, Engine engine, Time now) override {
    return {.choice = arbiter.choose(engine, nullptr, now)};
  }
  void started(Task /*task*/) override {}
  Status heard(int member, const Ballot& ballot) override;
};

// The agreement that the facts ask for. They must outlive it.
[[nodiscard]] std::unique_ptr<Agreement> make_agreement(const ProgramFacts& facts,
                                                        const Coordinates& self);

// For who implements one: all tasks of an engine in a step, and why a ballot is refused.
[[nodiscard]] TaskSet tasks_on(const ProgramFacts& facts, int rank, Engine engine,
                               int microbatches);
[[nodiscard]] Status refused(Agreeing::Who who, int member, const Ballot& ballot,
                             const std::string& why);

}  // namespace ripeline::core
