// Readiness-first dispatch: judged by counters for every microbatch count, else count by
// count.
#include "verify/ready/ready_judge.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "verify/judge/bounds.h"
#include "verify/judge/each_count.h"
#include "verify/judge/judge.h"
#include "verify/ready/backlogs.h"
#include "verify/ready/counters.h"
#include "verify/ready/linear.h"
#include "verify/solver/least.h"
#include "verify/solver/solver.h"
#include "verify/states/hunt.h"
#include "verify/verdict.h"
#include "verify/verify.h"

namespace ripeline::verify {

using spec::Machine;
using spec::Program;

namespace {

// How many counts are searched for a run; the rest of a range that is long or has no end is left
// open.
constexpr int kCounts = 8;
// After this number of solver steps a question is asked in another way.
constexpr std::uint64_t kFewSteps = 500'000;

// True if the range has so few counts that visiting states may settle each of them.
bool is_few(const spec::MicrobatchRange& counts) {
  return counts.max && *counts.max < counts.min + kCounts;
}

std::uint64_t few_steps(const VerifyOptions& options) {
  return options.solver_steps == 0 ? kFewSteps : std::min(kFewSteps, options.solver_steps);
}

}  // namespace

ReadyJudge::ReadyJudge(const Program& program, const VerifyOptions& options)
    : ReadyJudge(program, options, by_classes(program), nullptr) {}

ReadyJudge::ReadyJudge(const Program& program, const VerifyOptions& options,
                       std::unique_ptr<const ByClasses> classes,
                       std::unique_ptr<CounterQueries> queries)
    : program_(program),
      find_runs_(options.find_runs),
      few_steps_(few_steps(options)),
      budget_{options.search_states},
      classes_(std::move(classes)),
      queries_(queries ? std::move(queries)
                       : std::make_unique<CounterQueries>(classes_ ? classes_->program : program,
                                                          options.solver_steps)),
      inductive_(is_inductive()) {}

bool ReadyJudge::is_inductive() {
  return !beyond_counters(queries_->program()) && queries_->invariant_is_inductive();
}

Finding ReadyJudge::deadlock() {
  const auto known = [this] {
    std::vector<Term> facts;
    for (const Linear& backlog :
         excluded_backlogs(queries_->program(), queries_->counters(), few_steps_)) {
      facts.push_back(!queries_->not_negative(backlog));
    }
    return facts;
  };
  return settle({"deadlock: a stuck state", queries_->stuck(), [](int) { return Goal{}; }, known});
}

MemoryFinding ReadyJudge::memory() {
  MemoryFinding found;
  Solver& solver = queries_->solver();
  const auto asserted = asserted_bounds(queries_->program(), solver, queries_->microbatches());
  if (!asserted.ok()) {
    found.finding = not_known(asserted.errors().front());
    return found;
  }
  std::vector<Term> ways;
  for (const AssertedBound& b : asserted.value()) {
    ways.push_back(queries_->start_above(b.pool, b.bound));
  }
  const Question question{
      "memory: an assertion broken", solver.any_of(ways),
      [&](int microbatches) { return goal_of_assertions(program_, microbatches); }};
  if (!asserted.value().empty()) {
    found.finding = settle(question);
  } else if (inductive_) {
    found.finding = {.outcome = Outcome::proved, .method = Method::counters};
  } else {
    found.finding = by_structure();
  }
  if (found.finding.outcome != Outcome::proved) return found;
  if (inductive_) {
    found.bounds = least_bounds(
        program_, solver, [&](int pool, Term bound) { return queries_->holds_above(pool, bound); },
        std::vector<std::int64_t>(program_.pools.size(), 0));
  } else {
    found.bounds = capacities_of(program_);  // the guards keep the amounts within them
  }
  return found;
}

Finding ReadyJudge::settle(const Question& question) {
  const Answer first = first_answer(question);
  if (first == Answer::unsat && inductive_) {
    return {.outcome = Outcome::proved, .method = Method::counters};
  }
  if (!find_runs_ && counts_decide() && !is_few(program_.microbatches)) {
    return {.method = Method::counters, .reason = "No run was looked for."};
  }
  // From here on, counts are judged one by one: the solver finds the counts in question.
  std::string gave_up;
  CountPlan plan{
      .range = program_.microbatches, .most = kCounts, .to_the_end = true, .budget = &budget_};
  if (inductive_) {
    plan.in_question = [&](int from) { return next_in_question(question, from, gave_up); };
  }
  const CountAnswers answers = each_count(plan, [&](int microbatches, bool fewest) {
    const HuntResult hunted = hunt_at(question, microbatches);
    return answer_of(hunted, [&] { return refuted(question, microbatches, hunted, fewest); });
  });
  if (answers.settled) return *answers.settled;
  if (!gave_up.empty()) return {.reason = gave_up, .other_choices = answers.other_choices};
  Finding open{.method = Method::counters};
  if (answers.open) open.reason = open_reason(*answers.open);
  Finding found = by_counts(answers, std::move(open));
  found.counts = answers.safe;
  return found;
}

Answer ReadyJudge::first_answer(const Question& question) {
  Solver& solver = queries_->solver();
  std::vector<Term> asked{question.bad};
  if (!question.known) return solver.check(question.query, asked);
  // With few ranks the plain question takes fewer steps than a search for excluded backlogs.
  const Answer soon = solver.check_afresh(question.query, asked, few_steps_);
  if (soon != Answer::unknown) return soon;
  if (inductive_) {
    const std::vector<Term> known = question.known();
    asked.insert(asked.end(), known.begin(), known.end());
  }
  return solver.check_afresh(question.query, asked);
}

// The least count, not below `from`, for which there is a run or a state that is in question.
std::optional<int> ReadyJudge::next_in_question(const Question& question, int from,
                                                std::string& gave_up) {
  // A run with few microbatches is found sooner than the solver finds their number. Without a run,
  // the solver is asked about these counts, too, so that its answer stands in the certificate.
  for (int count = from; count - from < kCounts && program_.microbatches.contains(count); ++count) {
    const std::optional<HuntResult> few = few_at(question, count);
    if (!few) break;
    if (few->what == HuntResult::What::refuted) return count;
  }
  Solver& solver = queries_->solver();
  const auto fewest =
      least(solver, question.query + ", fewest microbatches", queries_->microbatches(), from,
            {question.bad, solver.number(from) <= queries_->microbatches()});
  if (!fewest) {
    if (solver.queries().back().answer == Answer::unsat) return std::nullopt;
    if (is_few(program_.microbatches)) {
      return program_.microbatches.contains(from) ? std::optional(from) : std::nullopt;
    }
    gave_up = "The solver gave up within its steps.";
    return std::nullopt;
  }
  if (*fewest <= std::numeric_limits<int>::max()) return static_cast<int>(*fewest);
  gave_up = fmt::format(
      "Neither a proof nor a run was found with {} microbatches: so many are not searched.",
      *fewest);
  return std::nullopt;
}

std::optional<HuntResult> ReadyJudge::few_at(const Question& question, int microbatches) {
  const Goal goal = question.goal(microbatches);
  if (!goal.is_stuck() && bound_without_value(program_, microbatches)) return std::nullopt;
  return hunt_few(program_, microbatches, goal, counts_decide(), budget_);
}

HuntResult ReadyJudge::hunt_at(const Question& question, int microbatches) {
  Solver& solver = queries_->solver();
  const Goal goal = question.goal(microbatches);
  if (!goal.is_stuck() && bound_without_value(program_, microbatches)) return {};
  std::vector<Term> extra = {question.bad, queries_->microbatches() == solver.number(microbatches)};
  // The smallest states are first, since runs to them have the fewest tasks.
  const auto next_target = [&]() -> std::optional<Target> {
    const std::string query = question.query + ", fewest tasks";
    if (!inductive_ || !small(solver, query, queries_->total(), extra)) return std::nullopt;
    const std::vector<std::int64_t> counts = queries_->counts();
    extra.push_back(queries_->differs(counts));
    Target target{std::vector<std::int64_t>(program_.lanes.size(), 0), -1};
    for (int counter = 0; counter < size_of(counts); ++counter) {
      at(target.counts, lane_counted_by(counter)) += at(counts, counter);
    }
    if (!goal.is_stuck()) {
      const auto lane = lane_above(goal, counts, microbatches);
      if (!lane) return std::nullopt;
      target.last_lane = *lane;
    }
    return target;
  };
  return hunt(program_, microbatches, goal, counts_decide(), next_target, budget_);
}

std::optional<int> ReadyJudge::lane_above(const Goal& goal, const std::vector<std::int64_t>& counts,
                                          int microbatches) const {
  for (int counter = 0; counter < size_of(counts); ++counter) {
    const auto& guards = at(queries_->counters().starts, counter).may;
    const bool may = std::all_of(guards.begin(), guards.end(),
                                 [&](const Linear& g) { return g.at(counts, microbatches) >= 0; });
    if (!may) continue;
    const int lane = lane_counted_by(counter);
    for (const auto& a : at(program_.lanes, lane).acquires) {
      const auto& bound = at(goal.bounds, a.pool);
      const Linear& held = at(queries_->counters().held, a.pool);
      if (bound && held.at(counts, microbatches) + a.amount > *bound) return lane;
    }
  }
  return std::nullopt;
}

Finding ReadyJudge::refuted(const Question& question, int microbatches, const HuntResult& hunted,
                            bool fewest) const {
  const Machine machine(program_, microbatches);
  Finding found =
      refuted_by(machine, question.goal(microbatches), hunted.events, fewest, Method::counters);
  if (const auto full = span_of_full(program_, found.counterexample->waits)) found.span = *full;
  return found;
}

std::string ReadyJudge::open_reason(int microbatches) const {
  std::string reason = fmt::format("Neither a proof nor a run was found with {} microbatch{}.",
                                   microbatches, microbatches == 1 ? "" : "es");
  if (!queries_->exact()) reason += " " + inexact_reason();
  return reason;
}

std::string ReadyJudge::inexact_reason() const {
  const Program& counted = queries_->program();
  if (const auto beyond = beyond_counters(counted)) {
    return *beyond + "; counts cannot follow that.";
  }
  const int partial = queries_->counters().inexact.front();
  for (const int edge : at(counted.lanes, partial).edges) {
    const spec::Edge& e = at(counted.edges, edge);
    if (!counted.crosses_shares(e)) continue;
    return fmt::format(
        "{} needs {}, which has other microbatches; counts say too little of that. `sequential` on "
        "both would help.",
        counted.lane_name(partial), counted.lane_name(e.producer));
  }
  const int lane = queries_->counters().inexact.front();
  std::vector<std::string> producers;
  for (const int edge : at(counted.lanes, lane).edges) {
    producers.push_back(counted.lane_name(at(counted.edges, edge).producer));
  }
  std::string list;
  for (std::size_t i = 0; i < producers.size(); ++i) {
    list += (i == 0 ? "" : i + 1 == producers.size() ? " and " : ", ") + producers[i];
  }
  if (producers.size() == 1) {
    return fmt::format(
        "{} is sequential and {} is not, so {}'s microbatches may arrive in any "
        "order, which counts cannot follow; `sequential` there would help.",
        counted.lane_name(lane), list, list);
  }
  return fmt::format(
      "{} joins {}, which may run ahead of one another with different microbatches; "
      "counts cannot follow that. `sequential` on them would help.",
      counted.lane_name(lane), list);
}

}  // namespace ripeline::verify
