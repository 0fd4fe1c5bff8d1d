#include "verify/order/order_findings.h"

#include <algorithm>

#include <fmt/format.h>

#include "verify/judge/bounds.h"
#include "verify/judge/each_count.h"
#include "verify/states/budget.h"
#include "verify/states/search.h"

namespace ripeline::verify {

using spec::Machine;
using spec::Program;

namespace {

// The greatest number of states that are visited while the slots at a run's end are filled.
constexpr std::uint64_t kReplayStates = 1'000'000;

// A refutation by the run whose events `find` returns; the run shows `what`.
template <class Find>
Finding shown_by_run(const Program& program, int microbatches, const Goal& goal, bool fewest,
                     Method method, const std::string& what, const Find& find) {
  const Machine machine(program, microbatches);
  Budget budget{kReplayStates};
  const Search search(machine, Machine::Chooser::dispatch, goal, true, budget);
  const std::optional<std::vector<spec::Event>> events = find(search);
  if (!events) return not_confirmed(what, microbatches, method);
  return refuted_by(machine, goal, *events, fewest, method);
}

// The part of the run on which its last task depends: producers, all earlier tasks of their ranks,
// and the receiver's tasks before a rendezvous that its sender had to complete.
Run needed_by_last(const Program& program, const Run& run, int microbatches) {
  const auto engine_of = [&](const Task& task) {
    const spec::Lane& lane = at(program.lanes, task.lane);
    return spec::engine_index(lane.rank, lane.engine);
  };
  // The index of each task in the run, and the indices of each engine's tasks.
  std::vector<std::vector<int>> place(program.lanes.size(),
                                      std::vector<int>(static_cast<std::size_t>(microbatches), -1));
  std::vector<std::vector<int>> of_engine(static_cast<std::size_t>(program.ranks) * spec::kEngines);
  for (int i = 0; i < size_of(run); ++i) {
    const Task& task = at(run, i);
    at(at(place, task.lane), task.microbatch) = i;
    of_engine[engine_of(task)].push_back(i);
  }
  // The last task before `end` on the engine of `task`, or -1.
  const auto last_before = [&](int end, const Task& task) {
    const std::vector<int>& own = of_engine[engine_of(task)];
    const auto next = std::lower_bound(own.begin(), own.end(), end);
    return next == own.begin() ? -1 : *std::prev(next);
  };
  std::vector<bool> needed(run.size(), false);
  std::vector<bool> rank_needed(static_cast<std::size_t>(program.ranks), false);
  const auto need = [&](int i) {
    if (i >= 0) needed[static_cast<std::size_t>(i)] = true;
  };
  need(size_of(run) - 1);
  Run kept;
  for (int i = size_of(run) - 1; i >= 0; --i) {
    const Task& task = at(run, i);
    const spec::Lane& lane = at(program.lanes, task.lane);
    const auto rank = static_cast<std::size_t>(lane.rank);
    if (!needed[static_cast<std::size_t>(i)] && !rank_needed[rank]) continue;
    kept.push_back(task);
    rank_needed[rank] = true;
    for (const int edge : lane.edges) {
      const spec::Edge& e = at(program.edges, edge);
      const auto [first, last] = program.needed(e, task.microbatch, microbatches);
      for (int m = first; m < last; ++m) need(at(at(place, e.producer), m));
    }
    const int before = last_before(i, task);
    if (before < 0) continue;
    const Task& handed_over = at(run, before);
    for (const int edge : at(program.lanes, handed_over.lane).feeds) {
      const spec::Edge& e = at(program.edges, edge);
      const int taker = program.needed_by(e, handed_over.microbatch, microbatches);
      if (!e.rendezvous || taker < 0) continue;
      const int taken = at(at(place, e.consumer), taker);
      need(last_before(taken < 0 ? i : std::min(taken, i), {e.consumer, taker}));
    }
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

// The length of the run up to the first start that exceeds a bound; 0 if there is none.
std::size_t until_broken(const Program& program, const Run& run, const Goal& goal) {
  std::vector<std::int64_t> held(program.pools.size(), 0);
  for (std::size_t i = 0; i < run.size(); ++i) {
    const spec::Lane& lane = at(program.lanes, run[i].lane);
    bool broken = false;
    for (const auto& a : lane.acquires) {
      const auto& bound = at(goal.bounds, a.pool);
      at(held, a.pool) += a.amount;
      broken = broken || (bound && at(held, a.pool) > *bound);
    }
    if (broken) return i + 1;
    for (const auto& r : lane.releases) at(held, r.pool) -= r.amount;
  }
  return 0;
}

}  // namespace

std::string with_microbatches(int n) {
  return fmt::format("with {} microbatch{}", n, n == 1 ? "" : "es");
}

Finding not_confirmed(const std::string& what, int microbatches, Method method) {
  return {.method = method,
          .reason = fmt::format(
              "{}, {}, but no run could be replayed that shows it: a defect of the verifier.", what,
              with_microbatches(microbatches))};
}

std::optional<Finding> not_listed_once(const Program& program, int microbatches,
                                       const OrderRunResult& graph) {
  if (graph.invalid) return not_known(graph.invalid->front());
  if (graph.not_once.empty()) return std::nullopt;
  return Finding{.outcome = Outcome::refuted,
                 .method = Method::graph,
                 .reason = fmt::format("{}, {}.", graph.not_once, with_microbatches(microbatches)),
                 .span = at(program.orders, program.dispatch.order).span,
                 .counterexample = Counterexample{microbatches, true, {}, {}}};
}

std::optional<Finding> stuck(const Program& program, int microbatches, bool fewest, Method method) {
  return stuck(program, microbatches, fewest, method,
               run_order(program, microbatches, Slots::as_given));
}

std::optional<Finding> stuck(const Program& program, int microbatches, bool fewest, Method method,
                             const OrderRunResult& result) {
  if (result.invalid || result.finished) return std::nullopt;
  Finding found = shown_by_run(program, microbatches, Goal{}, fewest, method, "The order deadlocks",
                               [&](const Search& search) { return search.events_of(result.run); });
  if (!found.counterexample) return found;
  const auto full = span_of_full(program, found.counterexample->waits);
  if (!full) return found;
  // If the order ends with unlimited pools, the order itself is right and a capacity is too small.
  Program roomy = program;
  for (spec::Pool& pool : roomy.pools) pool.capacity.reset();
  if (run_order(roomy, microbatches, Slots::as_given).finished) found.span = *full;
  return found;
}

Finding overfull(const Program& program, int microbatches, const Overflow& overflow,
                 Method method) {
  const std::string what = fmt::format("More messages may wait for {} than it has slots",
                                       program.inbox_name(overflow.inbox));
  return shown_by_run(program, microbatches, Goal{}, true, method, what, [&](const Search& search) {
    return search.overfill(overflow.run, overflow.inbox);
  });
}

Finding bound_broken(const Program& program, int microbatches, const OrderRunResult& result) {
  if (const auto span = bound_without_value(program, microbatches)) {
    return {.reason =
                fmt::format("The bound has no integer value {}.", with_microbatches(microbatches)),
            .span = *span};
  }
  const Goal goal = goal_of_assertions(program, microbatches);
  const std::size_t length = until_broken(program, result.run, goal);
  if (length == 0) return {};
  const Run run(result.run.begin(), result.run.begin() + static_cast<std::ptrdiff_t>(length));
  Finding found =
      shown_by_run(program, microbatches, goal, true, Method::graph, "An assertion breaks",
                   [&](const Search& search) {
                     return search.events_of(needed_by_last(program, run, microbatches));
                   });
  if (found.outcome != Outcome::refuted) found.method = Method::none;
  return found;
}

Finding asserted_peaks_of(const Program& program, int microbatches, const OrderRunResult& graph) {
  const Finding broken =
      program.inboxes.empty()
          ? bound_broken(program, microbatches, graph)
          : bound_broken(program, microbatches, run_order(program, microbatches, Slots::as_given));
  if (broken.outcome == Outcome::refuted || !broken.reason.empty()) return broken;
  const Goal goal = goal_of_assertions(program, microbatches);
  for (std::size_t p = 0; p < graph.peaks.size(); ++p) {
    if (goal.bounds[p] && graph.peaks[p] > *goal.bounds[p]) return {};
  }
  return {.outcome = Outcome::proved, .method = Method::graph};
}

}  // namespace ripeline::verify
