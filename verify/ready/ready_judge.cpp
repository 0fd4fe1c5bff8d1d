// Readiness-first dispatch: proved by counters for every microbatch count, else settled count by
// count.
#include "verify/ready/ready_judge.h"

#include <limits>

#include <fmt/format.h>

#include "verify/judge/bounds.h"
#include "verify/judge/fault.h"
#include "verify/judge/judge.h"
#include "verify/ready/counters.h"
#include "verify/ready/linear.h"
#include "verify/solver/least.h"
#include "verify/solver/solver.h"
#include "verify/states/explain.h"
#include "verify/states/hunt.h"
#include "verify/verdict.h"
#include "verify/verify.h"

namespace ripeline::verify {

using spec::Machine;
using spec::Program;

namespace {

// How many microbatch counts are searched for a run before a range without an end, or a long one,
// is left open.
constexpr int kCounts = 8;

}  // namespace

ReadyJudge::ReadyJudge(const Program& program, const VerifyOptions& options, Fault fault)
    : program_(program),
      fault_(fault),
      find_runs_(options.find_runs),
      budget_{options.search_states},
      queries_(program, count(program, fault), options.solver_steps, fault),
      inductive_(beyond_counters(program).empty() && queries_.invariant_is_inductive()) {}

Finding ReadyJudge::deadlock() {
  const Question question{"deadlock: a stuck state", queries_.stuck(), [](int) { return Goal{}; }};
  return settle(question);
}

MemoryFinding ReadyJudge::memory() {
  MemoryFinding found;
  Solver& solver = queries_.solver();
  const AssertedBounds asserted =
      asserted_bounds(program_, solver, queries_.microbatches(), fault_);
  if (!asserted.problem.empty()) {
    found.finding.reason = asserted.problem + ".";
    found.finding.span = asserted.span;
    return found;
  }
  std::vector<Term> ways;
  for (const AssertedBound& b : asserted.bounds) {
    ways.push_back(queries_.start_above(b.pool, b.bound));
  }
  const Question question{
      "memory: an assertion broken", solver.any_of(ways),
      [&](int microbatches) { return goal_of_assertions(program_, microbatches); }};
  if (!asserted.bounds.empty()) {
    found.finding = settle(question);
  } else if (inductive_) {
    found.finding = {.outcome = Outcome::proved, .method = "counters"};
  } else {
    found.finding = by_structure();
  }
  if (found.finding.outcome != Outcome::proved) return found;
  if (inductive_) {
    found.bounds = least_bounds(
        program_, solver, [&](int pool, Term bound) { return queries_.holds_above(pool, bound); },
        std::vector<std::int64_t>(program_.pools.size(), 0));
  } else {
    found.bounds = capacities_of(program_);  // the guards keep to them
  }
  return found;
}

Finding ReadyJudge::settle(const Question& question) {
  Solver& solver = queries_.solver();
  const Answer first = solver.check(question.query, {question.bad});
  if (first == Answer::unsat && inductive_) {
    return {.outcome = Outcome::proved, .method = "counters"};
  }
  if (!find_runs_ && queries_.exact()) {
    return {.method = "counters", .reason = "No run was looked for."};
  }
  // From here on, count by count: the solver says which counts are in question.
  Finding found;
  std::vector<int> open;  // counts that neither have a run nor are safe
  bool fewest = true;     // no smaller count has a run, for sure
  int last = program_.microbatches.min - 1;
  for (int tried = 0;; ++tried) {
    int next = last + 1;
    if (inductive_) {
      const auto least_count =
          least(solver, question.query + ", fewest microbatches", queries_.microbatches(), next,
                {question.bad, solver.number(next) <= queries_.microbatches()});
      if (!least_count) {
        if (solver.queries().back().answer == Answer::unsat) break;
        return {.reason = "The solver gave up within its steps.",
                .other_choices = found.other_choices};
      }
      if (*least_count > std::numeric_limits<int>::max()) {
        found.reason = fmt::format(
            "Neither a proof nor a run was found with {} microbatches: so many are not searched.",
            *least_count);
        return found;
      }
      next = static_cast<int>(*least_count);
    } else if (!program_.microbatches.contains(next)) {
      break;
    }
    if ((tried >= kCounts && !(open.empty() && program_.microbatches.max)) || budget_.left == 0) {
      open.push_back(next);
      break;
    }
    const Hunted hunted = hunt_at(question, next);
    if (hunted.what == Hunted::What::refuted) return refuted(question, next, hunted, fewest);
    if (!hunted.dispatch_is_safe) fewest = false;
    if (hunted.what == Hunted::What::others && !found.other_choices) {
      found.other_choices = refuted(question, next, hunted, false).counterexample;
    }
    if (hunted.what == Hunted::What::open) open.push_back(next);
    if (hunted.what == Hunted::What::safe) found.counts.push_back(next);
    last = next;
  }
  if (found.other_choices) {
    found.reason =
        "Safe only through its hint, as far as was searched: other choices among the "
        "tasks that may start stick.";
    if (!question.goal(program_.microbatches.min).is_stuck()) {
      found.reason =
          "Kept only through its hint, as far as was searched: other choices among the "
          "tasks that may start break an assertion.";
    }
    found.method = "states";
  } else if (open.empty()) {
    found.outcome = Outcome::proved;
    found.method = "states";
  } else {
    found.method = "counters";
    found.reason = open_reason(open);
  }
  return found;
}

Hunted ReadyJudge::hunt_at(const Question& question, int microbatches) {
  Solver& solver = queries_.solver();
  const Goal goal = question.goal(microbatches);
  if (!goal.is_stuck() && bound_without_value(program_, microbatches)) return {};
  std::vector<Term> extra = {question.bad, queries_.microbatches() == solver.number(microbatches)};
  // The smallest states first: a run to them has the fewest tasks.
  const auto next_target = [&]() -> std::optional<Target> {
    const std::string query = question.query + ", fewest tasks";
    if (!inductive_ || !small(solver, query, queries_.total(), extra)) return std::nullopt;
    Target target{queries_.counts(), -1};
    extra.push_back(queries_.differs(target.counts));
    if (!goal.is_stuck()) {
      const auto lane = lane_above(goal, target.counts, microbatches);
      if (!lane) return std::nullopt;
      target.last_lane = *lane;
    }
    return target;
  };
  return hunt(program_, microbatches, goal, queries_.exact(), next_target, budget_);
}

std::optional<int> ReadyJudge::lane_above(const Goal& goal, const std::vector<std::int64_t>& counts,
                                          int microbatches) const {
  for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
    const auto& guards = at(queries_.counters().may, lane);
    const bool may = std::all_of(guards.begin(), guards.end(),
                                 [&](const Linear& g) { return g.at(counts, microbatches) >= 0; });
    if (!may) continue;
    for (const auto& a : at(program_.lanes, lane).acquires) {
      const auto& bound = at(goal.bounds, a.pool);
      const Linear& held = at(queries_.counters().held, a.pool);
      if (bound && held.at(counts, microbatches) + a.amount > *bound) return lane;
    }
  }
  return std::nullopt;
}

Finding ReadyJudge::refuted(const Question& question, int microbatches, const Hunted& hunted,
                            bool fewest) const {
  const Machine machine(program_, microbatches);
  const Goal goal = question.goal(microbatches);
  Finding found{.outcome = Outcome::refuted, .method = "counters"};
  Counterexample example{microbatches, fewest, hunted.events, {}};
  if (goal.is_stuck()) {
    example.waits = waits_after(machine, hunted.events);
    found.reason = explain_stuck(machine, hunted.events);
    found.span = program_.dispatch.span;
    for (const Wait& wait : example.waits) {
      if (wait.block.why != spec::Block::Why::room) continue;
      found.span = at(program_.resources, at(program_.pools, wait.block.pool).resource).span;
      break;
    }
  } else {
    found.reason = explain_excess(machine, goal, hunted.events);
    found.span = span_of_broken(program_, goal, microbatches, hunted.events.back().lane);
  }
  found.counterexample = std::move(example);
  return found;
}

std::string ReadyJudge::open_reason(const std::vector<int>& open) const {
  std::string reason = fmt::format("Neither a proof nor a run was found with {} microbatch{}.",
                                   open.front(), open.front() == 1 ? "" : "es");
  if (!queries_.exact()) reason += " " + inexact_reason();
  return reason;
}

std::string ReadyJudge::inexact_reason() const {
  if (const std::string beyond = beyond_counters(program_); !beyond.empty()) {
    return beyond + "; counts cannot follow that.";
  }
  const int partial = queries_.counters().inexact.front();
  for (const int edge : at(program_.lanes, partial).edges) {
    const spec::Edge& e = at(program_.edges, edge);
    if (!program_.crosses_shares(e)) continue;
    return fmt::format(
        "{} needs {}, which has other microbatches; counts say too little of that. `sequential` on "
        "both would help.",
        program_.lane_name(partial), program_.lane_name(e.producer));
  }
  const int lane = queries_.counters().inexact.front();
  std::vector<std::string> producers;
  for (const int edge : at(program_.lanes, lane).edges) {
    producers.push_back(program_.lane_name(at(program_.edges, edge).producer));
  }
  std::string list;
  for (std::size_t i = 0; i < producers.size(); ++i) {
    list += (i == 0 ? "" : i + 1 == producers.size() ? " and " : ", ") + producers[i];
  }
  if (producers.size() == 1) {
    return fmt::format(
        "{} is sequential and {} is not, so {}'s microbatches may arrive in any "
        "order, which counts cannot follow; `sequential` there would help.",
        program_.lane_name(lane), list, list);
  }
  return fmt::format(
      "{} joins {}, which may run ahead of one another with different microbatches; "
      "counts cannot follow that. `sequential` on them would help.",
      program_.lane_name(lane), list);
}

}  // namespace ripeline::verify
