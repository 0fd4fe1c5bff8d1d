// A committed order: each count by its graph where the range is one count, or short and not linear;
// else all counts by cuts.
#include <fmt/format.h>

#include "verify/judges.h"

namespace ripeline::verify {

using spec::Machine;
using spec::Program;

namespace {

// Tasks, over all counts, for which graphs are built.
constexpr std::int64_t kMostTasks = 20'000'000;

std::string with_microbatches(int n) {
  return fmt::format("with {} microbatch{}", n, n == 1 ? "" : "es");
}

// Whether each count in range can be judged by itself.
bool is_short(const Program& program) {
  const auto& range = program.microbatches;
  if (!range.max) return false;
  const std::int64_t counts = std::int64_t{*range.max} - range.min + 1;
  return counts * *range.max <= kMostTasks / static_cast<std::int64_t>(program.lanes.size());
}

// The part of the run that its last task depends on: producers, and all that a rank did before.
Run needed_by_last(const Program& program, const Run& run) {
  std::vector<bool> rank_needed(static_cast<std::size_t>(program.ranks), false);
  std::vector<std::vector<bool>> task_needed(program.lanes.size());
  Run kept;
  for (std::size_t i = run.size(); i-- > 0;) {
    const Task& task = run[i];
    const spec::Lane& lane = at(program.lanes, task.lane);
    const auto& marks = at(task_needed, task.lane);
    const auto m = static_cast<std::size_t>(task.microbatch);
    const bool marked = m < marks.size() && marks[m];
    if (i + 1 != run.size() && !rank_needed[static_cast<std::size_t>(lane.rank)] && !marked) {
      continue;
    }
    kept.push_back(task);
    rank_needed[static_cast<std::size_t>(lane.rank)] = true;
    for (const int edge : lane.edges) {
      auto& producer = at(task_needed, at(program.edges, edge).producer);
      if (producer.size() <= m) producer.resize(m + 1, false);
      producer[m] = true;
    }
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

}  // namespace

OrderJudge::OrderJudge(const Program& program, const VerifyOptions& options, Fault fault)
    : program_(program), fault_(fault) {
  const auto& range = program.microbatches;
  if (range.max != range.min) {
    cuts_.emplace(program, options.solver_steps, fault);
    if (cuts_->problem().empty()) return;
    problem_ = cuts_->problem();
    problem_span_ = cuts_->problem_span();
    cuts_.reset();
    if (!is_short(program)) return;
  }
  for (int m = range.min; m <= *range.max; ++m) graphs_.emplace(m, run_order(program, m));
}

Finding OrderJudge::not_settled(const std::string& why, spec::Span span) const {
  return {.reason = fmt::format("For so many microbatch counts an order's counts must be linear in "
                                "them: {}.",
                                why),
          .span = span};
}

Finding OrderJudge::once() {
  once_ = Finding{.outcome = Outcome::proved, .method = "graph"};
  if (cuts_) {
    once_ = once_by_cuts();
  } else if (graphs_.empty()) {
    once_ = not_settled(problem_, problem_span_);
  }
  for (const auto& [m, graph] : graphs_) {
    if (!graph.invalid && graph.not_once.empty()) continue;
    if (graph.invalid) {
      once_ = Finding{.reason = graph.invalid->front().message + ".",
                      .span = graph.invalid->front().span};
    } else {
      once_ = Finding{.outcome = Outcome::refuted,
                      .method = "graph",
                      .reason = fmt::format("{}, {}.", graph.not_once, with_microbatches(m)),
                      .span = at(program_.orders, program_.dispatch.order).span,
                      .counterexample = Counterexample{m, true, {}, {}}};
    }
    break;
  }
  return *once_;
}

Finding OrderJudge::once_by_cuts() {
  Solver& solver = cuts_->solver();
  const Term wrong = cuts_->not_once();
  const Answer answer = solver.check("once: an order that is not each task once", {wrong});
  if (answer == Answer::unsat) return {.outcome = Outcome::proved, .method = "cuts"};
  const auto fewest = least(solver, "once: fewest microbatches", cuts_->microbatches(),
                            program_.microbatches.min, {wrong});
  if (!fewest) return {.method = "cuts", .reason = "The solver gave up within its steps."};
  const int m = static_cast<int>(*fewest);
  const OrderRunResult graph = run_order(program_, m);
  if (graph.invalid) {
    return {.method = "cuts",
            .reason = graph.invalid->front().message + ".",
            .span = graph.invalid->front().span};
  }
  if (graph.not_once.empty()) {
    return {.method = "cuts", .reason = "The solver's answer could not be confirmed."};
  }
  return {.outcome = Outcome::refuted,
          .method = "cuts",
          .reason = fmt::format("{}, {}.", graph.not_once, with_microbatches(m)),
          .span = at(program_.orders, program_.dispatch.order).span,
          .counterexample = Counterexample{m, true, {}, {}}};
}

Finding OrderJudge::stuck(int microbatches, const OrderRunResult& result, bool fewest) const {
  const Machine machine(program_, microbatches);
  const Goal goal;
  Budget budget;
  const Search search(machine, Machine::Chooser::dispatch, goal, true, budget);
  const auto events = search.events_of(result.run);
  if (!events) return {.reason = "The run that sticks could not be replayed."};
  return {.outcome = Outcome::refuted,
          .reason = explain_stuck(machine, *events),
          .span = at(program_.orders, program_.dispatch.order).span,
          .counterexample =
              Counterexample{microbatches, fewest, *events, waits_after(machine, *events)}};
}

Finding OrderJudge::deadlock() {
  if (once_->outcome != Outcome::proved) {
    if (once_->counterexample) {
      const int m = once_->counterexample->microbatches;
      const OrderRunResult graph = run_order(program_, m);
      if (!graph.invalid && !graph.finished) {
        Finding found = stuck(m, graph, m == program_.microbatches.min);
        found.method = "graph";
        found.reason = once_->reason + " " + found.reason;
        return found;
      }
    }
    return {.reason = "Not asked, since it is not known that the order has each task once."};
  }
  if (cuts_) return deadlock_by_cuts();
  for (const auto& [m, graph] : graphs_) {
    if (graph.finished) continue;
    Finding found = stuck(m, graph, true);
    found.method = "graph";
    return found;
  }
  return {.outcome = Outcome::proved, .method = "graph"};
}

Finding OrderJudge::deadlock_by_cuts() {
  Solver& solver = cuts_->solver();
  const Term bad = solver.any_of({cuts_->no_room(), cuts_->stuck_cut()});
  // Apart, each is easier.
  const Answer room = solver.check("deadlock: a place without room", {cuts_->no_room()});
  if (room == Answer::unsat &&
      solver.check("deadlock: a stuck cut", {cuts_->stuck_cut()}) == Answer::unsat) {
    return {.outcome = Outcome::proved, .method = "cuts"};
  }
  const auto fewest = least(solver, "deadlock: fewest microbatches", cuts_->microbatches(),
                            program_.microbatches.min, {bad});
  if (!fewest) return {.method = "cuts", .reason = "The solver gave up within its steps."};
  const int m = static_cast<int>(*fewest);
  const OrderRunResult graph = run_order(program_, m);
  if (graph.invalid || graph.finished) {
    return {.method = "cuts", .reason = "The solver's answer could not be confirmed."};
  }
  Finding found = stuck(m, graph, true);
  found.method = "cuts";
  return found;
}

MemoryFinding OrderJudge::memory() {
  MemoryFinding found;
  if (once_->outcome != Outcome::proved) {
    found.finding.reason = "Not asked, since it is not known that the order has each task once.";
    return found;
  }
  found.finding = asserted_peaks();
  if (found.finding.outcome != Outcome::proved) return found;
  if (cuts_) {
    // Enough for an order's steady state to be reached; a guess that only saves queries.
    int sample = std::max(program_.microbatches.min, 4 * size_of(program_.stages));
    sample = std::min(sample, program_.microbatches.max.value_or(sample));
    const OrderRunResult graph = run_order(program_, sample);
    found.peaks = least_bounds(
        program_, cuts_->solver(), [&](int pool, Term bound) { return cuts_->above(pool, bound); },
        graph.invalid ? std::vector<std::int64_t>(program_.pools.size(), 0) : graph.peaks);
    return found;
  }
  found.peaks.resize(program_.pools.size(), 0);
  for (const auto& [m, graph] : graphs_) {
    for (std::size_t p = 0; p < found.peaks.size(); ++p) {
      found.peaks[p] = std::max(*found.peaks[p], graph.peaks[p]);
    }
  }
  return found;
}

Finding OrderJudge::asserted_peaks() {
  if (!cuts_) {
    for (const auto& [m, graph] : graphs_) {
      const Finding broken = bound_broken(m, graph, true);
      if (broken.outcome == Outcome::refuted || !broken.reason.empty()) return broken;
    }
    return {.outcome = Outcome::proved, .method = "graph"};
  }
  Solver& solver = cuts_->solver();
  const AssertedBounds asserted = asserted_bounds(program_, solver, cuts_->microbatches(), fault_);
  if (!asserted.problem.empty()) return {.reason = asserted.problem + ".", .span = asserted.span};
  std::vector<Term> ways;
  for (const AssertedBound& b : asserted.bounds) ways.push_back(cuts_->above(b.pool, b.bound));
  const Term bad = solver.any_of(ways);
  if (ways.empty() || solver.check("memory: an assertion broken", {bad}) == Answer::unsat) {
    return {.outcome = Outcome::proved, .method = "cuts"};
  }
  const auto fewest = least(solver, "memory: fewest microbatches", cuts_->microbatches(),
                            program_.microbatches.min, {bad});
  if (!fewest) return {.method = "cuts", .reason = "The solver gave up within its steps."};
  const int m = static_cast<int>(*fewest);
  Finding broken = bound_broken(m, run_order(program_, m), true);
  broken.method = "cuts";
  if (broken.outcome != Outcome::refuted && is_short(program_)) {
    // The order sticks before that place: each count has an answer of its own.
    for (int each = program_.microbatches.min; each <= *program_.microbatches.max; ++each) {
      broken = bound_broken(each, run_order(program_, each), true);
      if (broken.outcome == Outcome::refuted || !broken.reason.empty()) return broken;
    }
    return {.outcome = Outcome::proved, .method = "graph"};
  }
  if (broken.outcome != Outcome::refuted) {
    broken = {.method = "cuts",
              .reason = fmt::format("A place in the order breaks an assertion {}, but no run "
                                    "reaches it; other counts were not searched.",
                                    with_microbatches(m))};
  }
  return broken;
}

// Refuted, or a reason why that is not known, or neither: the bounds hold.
Finding OrderJudge::bound_broken(int microbatches, const OrderRunResult& result, bool fewest) {
  if (const auto span = bound_without_value(program_, microbatches)) {
    return {.reason =
                fmt::format("The bound has no integer value {}.", with_microbatches(microbatches)),
            .span = *span};
  }
  const Goal goal = goal_of_assertions(program_, microbatches);
  std::vector<std::int64_t> held(program_.pools.size(), 0);
  for (std::size_t i = 0; i < result.run.size(); ++i) {
    const spec::Lane& lane = at(program_.lanes, result.run[i].lane);
    bool broken = false;
    for (const auto& a : lane.acquires) {
      const auto& bound = at(goal.bounds, a.pool);
      at(held, a.pool) += a.amount;
      broken = broken || (bound && at(held, a.pool) > *bound);
    }
    if (broken) {
      const Machine machine(program_, microbatches);
      Run run(result.run.begin(), result.run.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      Budget budget;
      const Search search(machine, Machine::Chooser::dispatch, goal, true, budget);
      const auto events = search.events_of(needed_by_last(program_, run));
      if (!events) return {.reason = "The run that breaks an assertion could not be replayed."};
      return {.outcome = Outcome::refuted,
              .method = "graph",
              .reason = explain_excess(machine, goal, *events),
              .span = span_of_broken(program_, goal, microbatches, result.run[i].lane),
              .counterexample = Counterexample{microbatches, fewest, *events, {}}};
    }
    for (const auto& r : lane.releases) at(held, r.pool) -= r.amount;
  }
  return {};
}

}  // namespace ripeline::verify
