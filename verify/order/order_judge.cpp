// A committed order: judged count by count by graphs if the range is one count, or short and not
// linear; else for all counts at once.
//
// begin() makes what decides how every obligation is judged:
//   one count; or streams and a short range  a graph for each count
//   tasks that have times (every_count.h)    nothing: all but memory is proved, mostly memory too
//   counts that are linear                   cuts for all; with streams, graphs for small counts
//   not linear, and a short range            a graph for each count
//   not linear, and a long or open range     graphs for the first counts: one may refute,
//                                            else the answer is unknown, with the counts judged
// Cuts find the fewest microbatches that go wrong, and the graph of that count makes the run,
// which Machine replays. If two engines compete for a resource or an inbox, a graph shows only
// one of many timings: then cuts prove if they exclude every stuck place, and otherwise a few
// counts are visited state by state.
#include "verify/order/order_judge.h"

#include <limits>

#include <fmt/format.h>

#include "verify/judge/bounds.h"
#include "verify/judge/each_count.h"
#include "verify/judge/judge.h"
#include "verify/order/cuts.h"
#include "verify/order/every_count.h"
#include "verify/order/order_run.h"
#include "verify/solver/least.h"
#include "verify/solver/solver.h"
#include "verify/states/budget.h"
#include "verify/states/hunt.h"
#include "verify/states/interleave.h"
#include "verify/states/run.h"
#include "verify/states/search.h"
#include "verify/verdict.h"
#include "verify/verify.h"

namespace ripeline::verify {

using spec::Machine;
using spec::Program;

namespace {

// The most states visited when the slots at the end of a run are filled.
constexpr std::uint64_t kReplayStates = 1'000'000;
// Counts judged one by one where not all can be: they may refute, and the reason names them.
constexpr int kSampled = 64;

std::string with_microbatches(int n) {
  return fmt::format("with {} microbatch{}", n, n == 1 ? "" : "es");
}

// Machine can make every run that cuts and graphs find, unless the verifier has a mistake.
std::string not_confirmed(const std::string& what, int microbatches) {
  return fmt::format(
      "{}, {}, but no run could be replayed that shows it: a defect of the verifier.", what,
      with_microbatches(microbatches));
}

// True if each count in range can be judged by itself.
bool is_short(const Program& program) {
  const auto& range = program.microbatches;
  if (!range.max) return false;
  const std::int64_t counts = std::int64_t{*range.max} - range.min + 1;
  return counts * *range.max <= kMostGraphTasks / static_cast<std::int64_t>(program.lanes.size());
}

// The part of the run that its last task depends on: producers, all earlier tasks of a rank that is
// needed, and the receiver's tasks before a rendezvous that its sender had to complete.
Run needed_by_last(const Program& program, const Run& run, int microbatches) {
  const auto engine_of = [&](const Task& task) {
    const spec::Lane& lane = at(program.lanes, task.lane);
    return spec::engine_index(lane.rank, lane.engine);
  };
  // The index in the run of each task, and the indices of each engine's tasks.
  std::vector<std::vector<int>> place(program.lanes.size());
  std::vector<std::vector<int>> of_engine(static_cast<std::size_t>(program.ranks) * spec::kEngines);
  std::vector<int> before(run.size(), -1);  // the task before on the same engine
  for (std::size_t i = 0; i < run.size(); ++i) {
    std::vector<int>& own = of_engine[engine_of(run[i])];
    if (!own.empty()) before[i] = own.back();
    own.push_back(static_cast<int>(i));
    std::vector<int>& places = at(place, run[i].lane);
    const auto m = static_cast<std::size_t>(run[i].microbatch);
    if (places.size() <= m) places.resize(m + 1, -1);
    places[m] = static_cast<int>(i);
  }
  const auto place_of = [&](int lane, int m) {
    return m < size_of(at(place, lane)) ? at(at(place, lane), m) : -1;
  };
  std::vector<bool> needed(run.size(), false);
  std::vector<bool> rank_needed(static_cast<std::size_t>(program.ranks), false);
  const auto need = [&](int i) {
    if (i >= 0) needed[static_cast<std::size_t>(i)] = true;
  };
  need(size_of(run) - 1);
  Run kept;
  for (std::size_t i = run.size(); i-- > 0;) {
    const spec::Lane& lane = at(program.lanes, run[i].lane);
    const auto rank = static_cast<std::size_t>(lane.rank);
    if (!needed[i] && !rank_needed[rank]) continue;
    kept.push_back(run[i]);
    rank_needed[rank] = true;
    for (const int edge : lane.edges) {
      const spec::Edge& e = at(program.edges, edge);
      const auto [first, last] = program.needed(e, run[i].microbatch, microbatches);
      for (int m = first; m < last; ++m) need(place_of(e.producer, m));
    }
    if (before[i] < 0) continue;
    const Task& handed_over = at(run, before[i]);
    for (const int edge : at(program.lanes, handed_over.lane).feeds) {
      const spec::Edge& e = at(program.edges, edge);
      const int taker = program.needed_by(e, handed_over.microbatch, microbatches);
      if (!e.rendezvous || taker < 0) continue;
      const std::vector<int>& receiver = of_engine[engine_of({e.consumer, taker})];
      const int taken = place_of(e.consumer, taker);
      const int end = taken < 0 ? static_cast<int>(i) : std::min(taken, static_cast<int>(i));
      const auto next = std::lower_bound(receiver.begin(), receiver.end(), end);
      if (next != receiver.begin()) need(*std::prev(next));
    }
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

}  // namespace

OrderJudge::OrderJudge(const Program& program, const VerifyOptions& options, CutInput asked)
    : program_(program), options_(options), asked_(std::move(asked)) {}

void OrderJudge::begin() {
  if (begun_) return;
  begun_ = true;
  if (may_have_times()) every_count_ = prove_every_count(asked_.program);
  if (!every_count_) make_cuts_or_graphs();
}

// False if each count is judged by its graph, which tells more than times do.
bool OrderJudge::may_have_times() const {
  const auto& range = program_.microbatches;
  if (asked_.reread || range.max == range.min) return false;
  if (!is_short(program_)) return true;
  const bool streams = !at(program_.orders, program_.dispatch.order).streams.empty();
  return !streams && !CutQueries(asked_, SolverUse::writing()).problem();
}

void OrderJudge::make_cuts_or_graphs() {
  const auto& range = program_.microbatches;
  const bool streams = !at(program_.orders, program_.dispatch.order).streams.empty();
  if (range.max != range.min && !(streams && is_short(program_))) {
    make_cuts(options_);
    if (!problem_ && !beyond_cuts(program_)) return;
  }
  if (is_short(program_)) {
    problem_.reset();
    cuts_.clear();
    make_graphs(std::int64_t{*range.max} + 1);
  } else {
    make_graphs(std::int64_t{range.min} + kSampled);
  }
}

void OrderJudge::make_cuts(const VerifyOptions& options) {
  const spec::Order& order = at(program_.orders, program_.dispatch.order);
  if (order.streams.empty()) {
    cuts_.emplace_back(asked_, options.solver_steps);
    problem_ = cuts_.back().problem();
    if (problem_) cuts_.clear();
    return;
  }
  const PeriodicFamily family = periodic_family(program_, order);
  if (!family.problem.empty()) {
    problem_ = spec::Diagnostic{"order-not-linear", family.problem, "", family.span};
    return;
  }
  const std::int64_t first = family.first_microbatches();
  if (first > program_.microbatches.max.value_or(std::numeric_limits<int>::max()) ||
      first * first > kMostGraphTasks / static_cast<std::int64_t>(program_.lanes.size())) {
    problem_ = spec::Diagnostic{"order-not-linear",
                                fmt::format("they are only from {} microbatches on", first), "",
                                order.span};
    return;
  }
  make_graphs(first);
  for (std::int64_t remainder = 0; remainder < family.period; ++remainder) {
    cuts_.emplace_back(asked_, options.solver_steps, family, remainder);
  }
}

// Makes the graphs of the counts in range that are below `end`.
void OrderJudge::make_graphs(std::int64_t end) {
  const std::int64_t most = end - program_.microbatches.min;
  Budget tasks{kMostGraphTasks};
  CountPlan plan{.range = program_.microbatches, .budget = &tasks};
  if (most < plan.most) plan.most = static_cast<int>(most);
  (void)each_count(plan, [&](int m, bool /*fewest*/) -> CountAnswer {
    const bool few = tasks.spend(static_cast<std::uint64_t>(m) * program_.lanes.size());
    if (!few && m > program_.microbatches.min) return {CountAnswer::What::settled};
    graphs_.emplace(m, run_order(program_, m, Slots::unbounded));
    return {CountAnswer::What::safe};
  });
}

Finding OrderJudge::not_settled(const spec::Diagnostic& problem) const {
  std::string reason =
      fmt::format("For so many microbatch counts an order's counts must be linear in them: {}.",
                  problem.message);
  if (!graphs_.empty()) {
    reason += fmt::format(" Each count from {} to {}, judged by itself, was found to be safe.",
                          graphs_.begin()->first, graphs_.rbegin()->first);
  }
  return {.reason = reason, .span = problem.span};
}

Finding OrderJudge::once() {
  begin();
  return runs_once();
}

const Finding& OrderJudge::runs_once() {
  if (!once_) once_ = find_once();
  return *once_;
}

Finding OrderJudge::find_once() {
  if (every_count_) return {.outcome = Outcome::proved, .method = Method::cuts};
  for (const auto& [m, graph] : graphs_) {
    if (graph.invalid) {
      return {.reason = graph.invalid->front().message + ".", .span = graph.invalid->front().span};
    }
    if (!graph.not_once.empty()) {
      return {.outcome = Outcome::refuted,
              .method = Method::graph,
              .reason = fmt::format("{}, {}.", graph.not_once, with_microbatches(m)),
              .span = at(program_.orders, program_.dispatch.order).span,
              .counterexample = Counterexample{m, true, {}, {}}};
    }
  }
  if (!cuts_.empty()) return once_by_cuts();
  if (problem_) return not_settled(*problem_);
  return {.outcome = Outcome::proved, .method = Method::graph};
}

OrderJudge::Fewest OrderJudge::fewest(const std::string& about,
                                      const std::function<Term(CutQueries&)>& bad) {
  Fewest found;
  for (CutQueries& cuts : cuts_) {
    std::vector<Term> extra{bad(cuts)};
    if (found.microbatches) {
      extra.push_back(cuts.microbatches() <= cuts.solver().number(*found.microbatches));
    }
    const Answer answer = cuts.solver().check(about, extra);
    if (answer == Answer::unsat) continue;
    const auto count = least(cuts.solver(), about + ": fewest microbatches", cuts.microbatches(),
                             program_.microbatches.min, extra);
    if (!count) return {.microbatches = {}, .gave_up = true};
    found.microbatches = static_cast<int>(*count);
  }
  return found;
}

Finding OrderJudge::once_by_cuts() {
  const Fewest found = fewest("once", [](CutQueries& cuts) { return cuts.not_once(); });
  if (found.gave_up)
    return {.method = Method::cuts, .reason = "The solver gave up within its steps."};
  if (!found.microbatches) return {.outcome = Outcome::proved, .method = Method::cuts};
  const int m = *found.microbatches;
  const OrderRunResult graph = run_order(program_, m, Slots::unbounded);
  if (graph.invalid) {
    return {.method = Method::cuts,
            .reason = graph.invalid->front().message + ".",
            .span = graph.invalid->front().span};
  }
  if (graph.not_once.empty()) {
    return {.method = Method::cuts, .reason = not_confirmed("The order is not each task once", m)};
  }
  return {.outcome = Outcome::refuted,
          .method = Method::cuts,
          .reason = fmt::format("{}, {}.", graph.not_once, with_microbatches(m)),
          .span = at(program_.orders, program_.dispatch.order).span,
          .counterexample = Counterexample{m, true, {}, {}}};
}

// An engine's tasks start in one order, so the graph's run that goes as far as it can decides:
// every run ends where this one ends, except that messages may fill slots in another order. The run
// is replayed before it is believed.
std::optional<Finding> OrderJudge::stuck(int microbatches, bool fewest, Method method) const {
  const OrderRunResult result = run_order(program_, microbatches, Slots::as_given);
  if (result.invalid || result.finished) return std::nullopt;
  const Machine machine(program_, microbatches);
  const Goal goal;
  Budget budget{kReplayStates};
  const Search search(machine, Machine::Chooser::dispatch, goal, true, budget);
  const auto events = search.events_of(result.run);
  if (!events) {
    return Finding{.method = method, .reason = not_confirmed("The order deadlocks", microbatches)};
  }
  Finding found = refuted_by(machine, goal, *events, fewest, method);
  const auto full = span_of_full(program_, found.counterexample->waits);
  if (full && ends_with_room(microbatches)) found.span = *full;
  return found;
}

// True if the order ends with unlimited pools: then a capacity is too small; the order is right.
bool OrderJudge::ends_with_room(int microbatches) const {
  Program roomy = program_;
  for (spec::Pool& pool : roomy.pools) pool.capacity.reset();
  return run_order(roomy, microbatches, Slots::as_given).finished;
}

// True if no run sticks, whichever engine comes first. A stuck run ends at a consistent cut at
// which each rank lacks something, so if there is no such cut, and no consistent cut at which an
// inbox overflows, nothing sticks whatever the timing. The converse does not hold here: perhaps no
// run makes the cut that was found, so it refutes nothing.
bool OrderJudge::never_stuck_by_cuts() {
  if (!graphs_.empty() && !at(program_.orders, program_.dispatch.order).streams.empty()) {
    return false;  // the cuts are not for every count
  }
  if (cuts_.empty() || beyond_cuts(program_)) return false;
  return std::all_of(cuts_.begin(), cuts_.end(), [](CutQueries& cuts) {
    Solver& solver = cuts.solver();
    return solver.check("deadlock: a stuck cut", {cuts.stuck_cut()}) == Answer::unsat &&
           solver.check("deadlock: an inbox overfull", {cuts.overfull()}) == Answer::unsat;
  });
}

// Visits a few counts state by state, since either of two engines may come first.
Finding OrderJudge::deadlock_by_states(const std::string& timing) {
  Budget budget{options_.search_states};
  const auto ask = [&](int m, bool fewest) -> CountAnswer {
    const spec::Order& order = at(program_.orders, program_.dispatch.order);
    for (int rank = 0; rank < program_.ranks; ++rank) {
      if (expand(program_, order, rank, m).ok()) continue;
      return {CountAnswer::What::settled, {.reason = "Not asked: see once."}};
    }
    const HuntResult hunted = hunt(
        program_, m, Goal{}, false, [] { return std::optional<Target>(); }, budget);
    // An order leaves no choices to others: the dispatch could make the run, but was not found to.
    if (hunted.what == HuntResult::What::others) return {CountAnswer::What::open};
    return answer_of(hunted, [&] {
      return refuted_by(Machine(program_, m), Goal{}, hunted.events, fewest, Method::states);
    });
  };
  const CountPlan plan{.range = program_.microbatches, .most = kFewCounts, .budget = &budget};
  return by_counts(
      each_count(plan, ask),
      {.method = Method::states,
       .reason = "What runs depends on timing, which is followed for few microbatches only: " +
                 timing + " on two engines."});
}

// Graphs and cuts show what runs only if timing cannot change it. Both also need each task listed
// once, since nobody can pass a place whose task is missing or doubled.
Finding OrderJudge::deadlock() {
  begin();
  if (every_count_) return {.outcome = Outcome::proved, .method = Method::cuts};
  if (const auto timing = depends_on_timing(program_)) {
    if (runs_once().outcome == Outcome::proved && never_stuck_by_cuts()) {
      return {.outcome = Outcome::proved, .method = Method::cuts};
    }
    return deadlock_by_states(*timing);
  }
  if (runs_once().outcome != Outcome::proved) {
    if (runs_once().counterexample) {
      const int m = runs_once().counterexample->microbatches;
      if (auto found = stuck(m, m == program_.microbatches.min, Method::graph)) {
        found->reason = runs_once().reason + " " + found->reason;
        return *found;
      }
    }
    for (const auto& [m, graph] : graphs_) {
      if (runs_once().counterexample || graph.invalid) continue;
      if (auto found = stuck(m, true, Method::graph)) return *found;
    }
    return {.reason = "Not asked, since it is not known that the order has each task once."};
  }
  for (const auto& [m, graph] : graphs_) {
    if (graph.finished && program_.inboxes.empty()) continue;
    if (auto found = stuck(m, true, Method::graph)) return *found;
    if (const auto overflow = find_overflow(program_, m))
      return overfull(m, *overflow, Method::graph);
  }
  if (cuts_.empty()) return {.outcome = Outcome::proved, .method = Method::graph};
  const std::optional<spec::Diagnostic> beyond = beyond_cuts(program_);
  return beyond ? not_settled(*beyond) : deadlock_by_cuts();
}

Finding OrderJudge::overfull(int microbatches, const Overflow& overflow, Method method) const {
  const Machine machine(program_, microbatches);
  const Goal goal;
  Budget budget{kReplayStates};
  const Search search(machine, Machine::Chooser::dispatch, goal, true, budget);
  const auto events = search.overfill(overflow.run, overflow.inbox);
  if (!events) {
    const std::string what = fmt::format("More messages may wait for {} than it has slots",
                                         program_.inbox_name(overflow.inbox));
    return {.method = method, .reason = not_confirmed(what, microbatches)};
  }
  return refuted_by(machine, goal, *events, true, method);
}

// If slots suffice for all messages that may wait at a consistent cut, links delay nobody, and the
// proof without slots stands. If not, some run fills the slots with messages that are taken late.
Finding OrderJudge::slots_by_cuts() {
  const Fewest found =
      fewest("deadlock: an inbox overfull", [](CutQueries& cuts) { return cuts.overfull(); });
  if (found.gave_up)
    return {.method = Method::cuts, .reason = "The solver gave up within its steps."};
  if (!found.microbatches) return {.outcome = Outcome::proved, .method = Method::cuts};
  const int m = *found.microbatches;
  if (const auto refuted = stuck(m, true, Method::cuts)) return *refuted;
  const auto overflow = find_overflow(program_, m);
  if (overflow) return overfull(m, *overflow, Method::cuts);
  return {.method = Method::cuts, .reason = not_confirmed("Some link has too few slots", m)};
}

// Without another engine, room depends on the rank's own place alone: a rank never passes a place
// without room, whatever other ranks do. So there are two questions, and if some run sticks, the
// answer to one of them is yes.
Finding OrderJudge::deadlock_by_cuts() {
  // The two questions are easier to answer apart.
  bool safe = true;
  for (CutQueries& cuts : cuts_) {
    Solver& solver = cuts.solver();
    // With several engines, room may come later; a stuck cut includes the places where it does not.
    safe = safe &&
           (has_other_engines(program_) ||
            solver.check("deadlock: a place without room", {cuts.no_room()}) == Answer::unsat) &&
           solver.check("deadlock: a stuck cut", {cuts.stuck_cut()}) == Answer::unsat;
  }
  if (safe) return slots_by_cuts();
  const Fewest found = fewest("deadlock", [this](CutQueries& cuts) {
    if (has_other_engines(program_)) return cuts.stuck_cut();
    return cuts.solver().any_of({cuts.no_room(), cuts.stuck_cut()});
  });
  if (found.gave_up)
    return {.method = Method::cuts, .reason = "The solver gave up within its steps."};
  if (!found.microbatches) return slots_by_cuts();
  const int m = *found.microbatches;
  // Below this count only slots can make the order stick.
  if (!program_.inboxes.empty()) {
    Finding slots = slots_by_cuts();
    const auto& run = slots.counterexample;
    if (slots.outcome == Outcome::refuted && run && run->microbatches < m) return slots;
  }
  if (const auto refuted = stuck(m, true, Method::cuts)) return *refuted;
  return {.method = Method::cuts, .reason = not_confirmed("The order deadlocks", m)};
}

MemoryFinding OrderJudge::memory_by_times() const {
  MemoryFinding found;
  found.finding = {.outcome = Outcome::proved, .method = Method::cuts};
  found.bounds = every_count_->bounds;
  if (!program_.pairs.empty()) return found;
  found.held.assign(program_.pools.size(), 0);
  raise_to_sample(found.held);
  for (std::size_t p = 0; p < found.held.size(); ++p) {
    if (found.bounds[p]) found.held[p] = *found.bounds[p];  // the order comes to hold as much
  }
  return found;
}

MemoryFinding OrderJudge::memory() {
  begin();
  if (every_count_ && every_count_->memory) return memory_by_times();
  if (every_count_ && cuts_.empty() && graphs_.empty()) make_cuts_or_graphs();
  MemoryFinding found;
  if (runs_once().outcome != Outcome::proved) {
    found.finding.reason = "Not asked, since it is not known that the order has each task once.";
    return found;
  }
  if (has_other_engines(program_)) return memory_of_engines();
  found.finding = asserted_peaks();
  const bool undecided = found.finding.outcome == Outcome::unknown && found.finding.reason.empty();
  if (undecided) found.finding = asserted_peaks_by_states();
  if (found.finding.outcome != Outcome::proved) return found;
  std::vector<std::int64_t> known(program_.pools.size(), 0);
  for (const auto& [m, graph] : graphs_) {
    for (std::size_t p = 0; p < known.size(); ++p) known[p] = std::max(known[p], graph.peaks[p]);
  }
  if (cuts_.empty()) {
    found.bounds.assign(known.begin(), known.end());
  } else {
    raise_to_sample(known);
    found.bounds = bounds_by_cuts(known);
  }
  // A count's run holds what its graph shows if only needs and room can delay a task.
  if (program_.pairs.empty() && program_.inboxes.empty()) found.held = known;
  return found;
}

// Raises `peaks` to what the run of one count holds. The count is a guess: enough for the order to
// reach a steady state.
void OrderJudge::raise_to_sample(std::vector<std::int64_t>& peaks) const {
  int sample = std::max(program_.microbatches.min, 4 * size_of(program_.stages));
  sample = std::min(sample, program_.microbatches.max.value_or(sample));
  const OrderRunResult graph = run_order(program_, sample, Slots::unbounded);
  for (std::size_t p = 0; p < peaks.size() && !graph.invalid; ++p) {
    peaks[p] = std::max(peaks[p], graph.peaks[p]);
  }
}

// Per pool the most that it holds for any count; nothing if the amount grows with the count.
std::vector<std::optional<std::int64_t>> OrderJudge::bounds_by_cuts(
    std::vector<std::int64_t> known) {
  std::vector<std::optional<std::int64_t>> most(known.begin(), known.end());
  for (CutQueries& cuts : cuts_) {
    const auto bounds = least_bounds(
        program_, cuts.solver(), [&](int pool, Term bound) { return cuts.above(pool, bound); },
        known);
    for (std::size_t p = 0; p < known.size(); ++p) {
      if (!bounds[p]) most[p] = std::nullopt;
      if (bounds[p]) known[p] = std::max(known[p], *bounds[p]);
      if (most[p]) most[p] = known[p];
    }
  }
  return most;
}

// Graphs do not show what tasks side by side hold: cuts for every count do, or else states.
MemoryFinding OrderJudge::memory_of_engines() {
  MemoryFinding found;
  const bool all_counts = graphs_.empty() && !cuts_.empty();
  found.finding = {.outcome = Outcome::proved,
                   .method = Method::structure};  // guards keep to capacities
  if (all_counts) found.finding = asserted_peaks();
  const bool by_cuts = all_counts && found.finding.outcome == Outcome::proved;
  if (!by_cuts && !program_.assertions.empty()) found.finding = asserted_peaks_by_states();
  if (found.finding.outcome != Outcome::proved) return found;
  if (by_cuts) {
    found.bounds = bounds_by_cuts(std::vector<std::int64_t>(program_.pools.size(), 0));
  } else {
    found.bounds = capacities_of(program_);
  }
  return found;
}

// Judges asserted peaks by states, where tasks run side by side or links keep ranks from a peak.
Finding OrderJudge::asserted_peaks_by_states() {
  const Finding open{.reason =
                         "Peaks of tasks side by side, and those that links keep from being "
                         "reached, are followed under an order for a few microbatches only."};
  Budget budget{options_.search_states};
  const auto ask = [&](int m, bool fewest) -> CountAnswer {
    if (bound_without_value(program_, m)) return {CountAnswer::What::settled, open};
    const Machine machine(program_, m);
    const Goal goal = goal_of_assertions(program_, m);
    const auto all = interleave(machine, Machine::Chooser::dispatch, goal, budget);
    if (!all.way) return {all.complete ? CountAnswer::What::safe : CountAnswer::What::open};
    return {CountAnswer::What::settled,
            refuted_by(machine, goal, *all.way, fewest, Method::states)};
  };
  const CountPlan plan{.range = program_.microbatches, .most = kFewCounts, .budget = &budget};
  return by_counts(each_count(plan, ask), open);
}

// The finding for one count: proved, refuted, a reason for neither, or empty: graphs bound only
// from above what pairs hold beside each other, and what ranks hold that slots may stop.
Finding OrderJudge::asserted_peaks_of(int microbatches, const OrderRunResult& graph) const {
  const Finding broken =
      program_.inboxes.empty()
          ? bound_broken(microbatches, graph)
          : bound_broken(microbatches, run_order(program_, microbatches, Slots::as_given));
  if (broken.outcome == Outcome::refuted || !broken.reason.empty()) return broken;
  const Goal goal = goal_of_assertions(program_, microbatches);
  for (std::size_t p = 0; p < graph.peaks.size(); ++p) {
    if (goal.bounds[p] && graph.peaks[p] > *goal.bounds[p]) return {};
  }
  return {.outcome = Outcome::proved, .method = Method::graph};
}

Finding OrderJudge::asserted_peaks() {
  for (const auto& [m, graph] : graphs_) {
    const Finding found = asserted_peaks_of(m, graph);
    if (found.outcome != Outcome::proved) return found;
  }
  if (cuts_.empty()) return {.outcome = Outcome::proved, .method = Method::graph};
  for (CutQueries& cuts : cuts_) {
    const auto asserted = asserted_bounds(cuts.program(), cuts.solver(), cuts.microbatches());
    if (!asserted.ok()) return not_known(asserted.errors().front());
  }
  const Fewest found = fewest("memory: an assertion broken", [&](CutQueries& cuts) {
    const auto asserted = asserted_bounds(cuts.program(), cuts.solver(), cuts.microbatches());
    std::vector<Term> ways;
    for (const AssertedBound& b : asserted.value()) {
      ways.push_back(cuts.above(b.pool, b.bound));
    }
    return cuts.solver().any_of(ways);
  });
  if (found.gave_up)
    return {.method = Method::cuts, .reason = "The solver gave up within its steps."};
  if (!found.microbatches) return {.outcome = Outcome::proved, .method = Method::cuts};
  const int m = *found.microbatches;
  if (has_other_engines(program_)) return {};
  Finding broken = bound_broken(m, run_order(program_, m, Slots::as_given));
  broken.method = Method::cuts;
  if (broken.outcome != Outcome::refuted && !program_.pairs.empty()) return {};
  if (broken.outcome != Outcome::refuted && is_short(program_)) {
    // The order sticks before that place, so each count is asked by itself.
    const auto ask = [&](int each, bool /*fewest*/) -> CountAnswer {
      Finding one = asserted_peaks_of(each, run_order(program_, each, Slots::unbounded));
      if (one.outcome == Outcome::proved) return {CountAnswer::What::safe};
      return {CountAnswer::What::settled, std::move(one)};
    };
    const CountAnswers answers = each_count({.range = program_.microbatches}, ask);
    return answers.settled.value_or(Finding{.outcome = Outcome::proved, .method = Method::graph});
  }
  if (broken.outcome != Outcome::refuted) {
    broken = {.method = Method::cuts,
              .reason = fmt::format("A place in the order breaks an assertion {}, but no run "
                                    "reaches it; other counts were not searched.",
                                    with_microbatches(m))};
  }
  return broken;
}

// Refuted, or unknown with a reason, or a finding without a reason if the bounds hold.
Finding OrderJudge::bound_broken(int microbatches, const OrderRunResult& result) const {
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
      Budget budget{kReplayStates};
      const Search search(machine, Machine::Chooser::dispatch, goal, true, budget);
      const auto events = search.events_of(needed_by_last(program_, run, microbatches));
      if (!events) return {.reason = not_confirmed("An assertion breaks", microbatches)};
      return refuted_by(machine, goal, *events, true, Method::graph);
    }
    for (const auto& r : lane.releases) at(held, r.pool) -= r.amount;
  }
  return {};
}

}  // namespace ripeline::verify
