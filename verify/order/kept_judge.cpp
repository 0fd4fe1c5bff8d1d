// Readiness-first dispatch that keeps room for the rest of an order: judged by the order's own
// proof if that decides, else count by count.
//
// Suppose that each rank commits to the order, and that this program is proved to list each task
// once and never to stick. Then the program that keeps room for the order never sticks, either.
//  * In every state the rest of a rank's order finds room, one task after the other. This is true
//    at the beginning, since the committed run ends and a rank's pools are its own. A start
//    preserves it: tasks listed before the started one find room by the guard, and tasks listed
//    after it find the same room as before.
//  * Suppose that no task runs and no message is on its way. In the committed run, take the first
//    task that is the k-th of a lane of which only k - 1 have started. It is first in the rest of
//    its rank's order, so the guard lets it start and it has room. The tasks that it needs precede
//    it in the run, so at least as many tasks of each producer have ended as the k-th task needs.
//    If counts decide what a lane finds (verify/ready/counters.h), one of its tasks may therefore
//    start.
// Bounded links are excluded, since messages that this task does not need may fill their
// slots.
#include "verify/order/kept_judge.h"

#include <fmt/format.h>

#include "verify/judge/bounds.h"
#include "verify/judge/each_count.h"
#include "verify/judge/judge.h"
#include "verify/order/order_judge.h"
#include "verify/ready/counters.h"
#include "verify/ready/ready_judge.h"
#include "verify/solver/solver.h"
#include "verify/states/hunt.h"
#include "verify/verdict.h"
#include "verify/verify.h"

namespace ripeline::verify {

using spec::Machine;
using spec::Program;

namespace {

// The program without the room that it keeps.
Program freed(const Program& program) {
  Program free = program;
  free.dispatch.keeps = -1;
  return free;
}

}  // namespace

Program committed_to_kept(const Program& program) {
  Program order = program;
  order.dispatch = {
      .in_order = true, .order = program.dispatch.keeps, .hint = {}, .span = program.dispatch.span};
  order.assertions.clear();
  return order;
}

std::optional<std::string> beyond_kept_order(const Program& program) {
  if (!program.inboxes.empty()) return "links with slots";
  const Counters counters = count(program);
  if (counters.inexact.empty()) return std::nullopt;
  return fmt::format(
      "what {} finds, whose producers may run ahead with different microbatches, which counts "
      "cannot follow; `sequential` on them may help",
      program.lane_name(counters.inexact.front()));
}

KeptJudge::KeptJudge(const Program& program, const VerifyOptions& options)
    : KeptJudge(program, options, nullptr, beyond_kept_order(program)) {
  of_order_ = std::make_unique<OrderJudge>(committed_, options);
}

KeptJudge::KeptJudge(const Program& program, const VerifyOptions& options,
                     std::unique_ptr<Judge> of_order, std::optional<std::string> beyond_order)
    : program_(program),
      options_(options),
      free_(freed(program)),
      committed_(committed_to_kept(program)),
      of_order_(std::move(of_order)),
      beyond_order_(std::move(beyond_order)),
      budget_{options.search_states} {}

Finding KeptJudge::deadlock() {
  const std::string& order = at(program_.orders, program_.dispatch.keeps).name;
  Finding of_order = of_order_->once();
  if (of_order.outcome == Outcome::proved) of_order = of_order_->deadlock();
  if (of_order.outcome == Outcome::proved && !beyond_order_) {
    return {.outcome = Outcome::proved, .method = of_order.method};
  }
  const std::string why =
      of_order.outcome == Outcome::proved
          ? fmt::format("The proof of order {} does not cover {}.", order, *beyond_order_)
          : fmt::format("Order {} is not proved itself: {}", order, of_order.reason);
  return by_states(why, [](int) { return Goal{}; });
}

MemoryFinding KeptJudge::memory() {
  // A bound that holds for every run without kept room also holds for runs with kept room.
  if (MemoryFinding free = ReadyJudge(free_, options_).memory();
      free.finding.outcome == Outcome::proved) {
    return free;
  }
  return by_capacities();
}

MemoryFinding KeptJudge::by_capacities() {
  MemoryFinding found;
  found.bounds = capacities_of(program_);
  Solver solver(options_.solver_steps);
  const Term microbatches = solver.integer("microbatches");
  const auto asserted = asserted_bounds(program_, solver, microbatches);
  if (!asserted.ok()) {
    found.finding = not_known(asserted.errors().front());
    return found;
  }
  std::vector<Term> exceeded;  // true if a full pool exceeds its bound
  for (const AssertedBound& b : asserted.value()) {
    const auto& capacity = at(program_.pools, b.pool).capacity;
    exceeded.push_back(capacity ? b.bound < solver.number(*capacity)
                                : solver.number(0) <= solver.number(0));
  }
  const auto& range = program_.microbatches;
  solver.require(solver.number(range.min) <= microbatches);
  if (range.max) solver.require(microbatches <= solver.number(*range.max));
  const Answer answer =
      asserted.value().empty()
          ? Answer::unsat
          : solver.check("memory: a capacity above an asserted bound", {solver.any_of(exceeded)});
  if (answer == Answer::unsat) {
    found.finding = by_structure();  // the guards enforce the capacities
    return found;
  }
  found.finding = by_states(
      "An asserted bound is below what the capacities allow, and room that is kept for an order "
      "says no more.",
      [this](int m) { return goal_of_assertions(program_, m); });
  return found;
}

Finding KeptJudge::by_states(const std::string& open,
                             const std::function<Goal(int microbatches)>& goal_of) {
  const auto& range = program_.microbatches;
  const spec::Order& order = at(program_.orders, program_.dispatch.keeps);
  // If not every count can be visited, visits can only yield a run that refutes.
  constexpr std::uint64_t kShare = 8;
  const bool all = range.max && *range.max < range.min + kFewCounts;
  if (!all && !options_.find_runs) return {.method = Method::states, .reason = open};
  if (!all) budget_.left = std::min(budget_.left, options_.search_states / kShare);
  const auto ask = [&](int m, bool fewest) -> CountAnswer {
    for (int rank = 0; rank < program_.ranks; ++rank) {
      const auto tasks = expand(program_, order, rank, m);
      if (tasks.ok()) continue;
      return {CountAnswer::What::settled,
              {.method = Method::states,
               .reason = tasks.errors().front().message + ".",
               .span = tasks.errors().front().span}};
    }
    const Goal goal = goal_of(m);
    // A bound without a value can neither be exceeded by a run nor be proved.
    if (!goal.is_stuck() && bound_without_value(program_, m)) {
      return {CountAnswer::What::open, {}, true};
    }
    const HuntResult hunted = hunt(
        program_, m, goal, false, [] { return std::optional<Target>(); }, budget_);
    return answer_of(hunted, [&] {
      return refuted_by(Machine(program_, m), goal, hunted.events, fewest, Method::states);
    });
  };
  const CountPlan plan{.range = range, .most = kFewCounts, .budget = &budget_};
  return by_counts(each_count(plan, ask), {.method = Method::states, .reason = open});
}

}  // namespace ripeline::verify
