#include "verify/group/replica_judge.h"

#include <utility>

#include "verify/group/group_runs.h"
#include "verify/group/protocol.h"
#include "verify/group/protocol_every_size.h"

namespace ripeline::verify {

using spec::GroupMachine;
using spec::Program;

ReplicaJudge::ReplicaJudge(const Program& program, const VerifyOptions& options,
                           std::unique_ptr<Judge> of_one, std::optional<Doubt> doubt)
    : program_(program),
      options_(options),
      of_one_(std::move(of_one)),
      reductions_(program),
      doubt_(std::move(doubt)) {}

Finding ReplicaJudge::collectives() {
  Finding of_one = of_all(of_one_->collectives());
  one_order_ = true;
  if (of_one.outcome != Outcome::proved || !reductions_.any() || reductions_.in_order()) {
    return of_one;
  }
  if (agrees_for_every_size(right_protocol(spec::Agree::intersection), options_.solver_steps) ==
      Answer::unsat) {
    // The method that proved the members' collectives is kept, unless it is `structure`.
    if (of_one.method == Method::structure) of_one.method = Method::induction;
    return of_one;
  }
  one_order_ = false;
  return {.reason = "The solver gave up within its steps.", .span = program_.data_parallel.span};
}

Finding ReplicaJudge::deadlock() {
  Finding of_one = of_all(of_one_->deadlock());
  if (of_one.outcome != Outcome::proved) return of_one;
  const char* alone = "One replica alone does not deadlock. ";
  if (!one_order_) {
    return {.method = of_one.method,
            .reason = std::string(alone) + "Replicas may reduce in different orders.",
            .span = program_.data_parallel.span};
  }
  if (!doubt_) return of_one;
  return {.method = of_one.method, .reason = alone + doubt_->text, .span = doubt_->span};
}

// A replica's part of a run with others is also a run of that replica alone, so the peaks hold.
MemoryFinding ReplicaJudge::memory() {
  MemoryFinding memory = of_one_->memory();
  memory.finding = of_all(std::move(memory.finding));
  return memory;
}

// Accepts a counterexample of one replica if all replicas can make that run at the same time.
Finding ReplicaJudge::of_all(Finding of_one) const {
  if (!of_one.counterexample) return of_one;
  const Counterexample& run = *of_one.counterexample;
  const GroupMachine all(program_, run.microbatches, run.members, program_.data_parallel.replicas);
  const auto end = replayed(all, spec::Machine::Chooser::dispatch, all.by_all_replicas(run.events));
  if (end && (run.waits.empty() || all.stuck(*end))) return of_one;
  of_one.outcome = Outcome::unknown;
  of_one.reason =
      "One replica alone has such a run, and the replicas were not found to. " + of_one.reason;
  of_one.other_choices = std::exchange(of_one.counterexample, std::nullopt);
  return of_one;
}

}  // namespace ripeline::verify
