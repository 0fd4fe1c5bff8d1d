// Agreement: decides which task the members of a tensor-parallel group start next, and in which
// order replicas of the pipeline start reductions. It stands between arbiter and executor.
//
// Members see arrivals at different times, but must all start tasks with collectives in one order.
// An engine on which a rank has such tasks is governed: it has a log with one task for each round
// of a step, and each member starts the tasks in the order of the log, each as soon as it may
// start. In the same way replicas govern engines with reductions; ProgramFacts::agreeing() tells
// who governs an engine. Those processes send each other ballots to settle which task is next
// (core/rounds.h, core/leader.h). On other engines each process decides alone. spec/group.h states
// what is proved.
//
// The proof assumes that tasks which may start on an engine remain able to start while it starts
// nothing, and that the hint's turn stays. So a ballot is still true when it is counted. This fails
// only if several engines take from one pool, or a hint's turn depends on several engines; nothing
// is proved for such programs. Reductions take from no pool with a capacity; replicas ask no hint.
//
// It belongs to its executor, whose thread alone uses it. No I/O; only begin_step() allocates.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/arbiter.h"

namespace ripeline::core {

// The ballot that a member, or a replica, sends in a round to all others that govern the engine.
struct Ballot {
  Engine engine = Engine::compute;
  std::int32_t round = 0;    // how many tasks the engine has started in this step
  std::int32_t attempt = 0;  // within the round; earlier attempts found no common task
  TaskSet tasks;             // never empty
  bool operator==(const Ballot&) const = default;
};

class Agreement {
 public:
  struct Decision {
    bool decided = true;             // if false, nothing may start before the group agrees
    Choice choice = {};              // if decided
    const Ballot* ballot = nullptr;  // to be sent to all others; valid until the next choose()
    // Not null if a stored ballot of another member contradicts ballots that arrived after it.
    const Status* failure = nullptr;
  };

  virtual ~Agreement() = default;

  virtual void begin_step(int microbatches) = 0;
  // Decides which task, if any, `engine` starts now; the engine must be able to take one.
  [[nodiscard]] virtual Decision choose(const Arbiter& arbiter, Engine engine, Time now) = 0;
  // Reports that `task` starts, which ends the round.
  virtual void started(Task task) = 0;
  // The number of the member whose ballot is missing while nothing is decided; -1 if no ballot is
  // missing, or the member is not known.
  [[nodiscard]] virtual int waits_for(Engine /*engine*/) const { return -1; }
  // Reports a ballot of this step from another process. `member` is the number of that process by
  // Agreeing::number_of(). A ballot that does not fit the step is refused and changes nothing.
  virtual Status heard(int member, const Ballot& ballot) = 0;
};

// The agreement of a process that has nobody to agree with, or need not agree.
class OneMember final : public Agreement {
 public:
  void begin_step(int /*microbatches*/) override {}
  Decision choose(const Arbiter& arbiter, Engine engine, Time now) override {
    return {.choice = arbiter.choose(engine, nullptr, now)};
  }
  void started(Task /*task*/) override {}
  Status heard(int member, const Ballot& ballot) override;
};

// Makes the agreement that the facts require. The facts must outlive the agreement.
[[nodiscard]] std::unique_ptr<Agreement> make_agreement(const ProgramFacts& facts,
                                                        const Coordinates& self);

// Helpers of implementations: all tasks of an engine in a step; the status that refuses a ballot.
[[nodiscard]] TaskSet tasks_on(const ProgramFacts& facts, int rank, Engine engine,
                               int microbatches);
[[nodiscard]] Status refused(Agreeing::Who who, int member, const Ballot& ballot,
                             const std::string& why);

}  // namespace ripeline::core
