// The strategies for a committed order: TimesJudge, CutJudge and GraphJudge, one class for each.
//
// Cuts find the fewest microbatches with a fault, and the graph of that count gives the run, which
// Machine replays. If two engines compete for a resource or an inbox, a graph shows only one of
// many timings. Then cuts are a proof if they exclude every stuck cut; otherwise a few counts are
// visited state by state.
#include "verify/order/order_judge.h"

#include <algorithm>
#include <limits>
#include <list>
#include <map>

#include <fmt/format.h>

#include "verify/judge/bounds.h"
#include "verify/judge/each_count.h"
#include "verify/order/every_count.h"
#include "verify/order/order_findings.h"
#include "verify/order/order_run.h"
#include "verify/solver/least.h"
#include "verify/solver/solver.h"
#include "verify/states/hunt.h"
#include "verify/states/interleave.h"

namespace ripeline::verify {

using spec::Machine;
using spec::Program;

namespace {

// The number of counts judged one by one if not all can be. They may refute, and reasons name them.
constexpr int kSampled = 64;

using PoolBounds = std::vector<std::optional<std::int64_t>>;

const spec::Order& order_of(const Program& program) {
  return at(program.orders, program.dispatch.order);
}

// True if each count in range can be judged by itself.
bool is_short(const Program& program) {
  const auto& range = program.microbatches;
  if (!range.max) return false;
  const std::int64_t counts = std::int64_t{*range.max} - range.min + 1;
  return counts * *range.max <= kMostGraphTasks / static_cast<std::int64_t>(program.lanes.size());
}

// Raises `peaks` to the amounts held in the run of one count. With this count, the order probably
// reaches a steady state.
void raise_to_sample(const Program& program, std::vector<std::int64_t>& peaks) {
  int sample = std::max(program.microbatches.min, 4 * size_of(program.stages));
  sample = std::min(sample, program.microbatches.max.value_or(sample));
  const OrderRunResult graph = run_order(program, sample, Slots::unbounded);
  for (std::size_t p = 0; p < peaks.size() && !graph.invalid; ++p) {
    peaks[p] = std::max(peaks[p], graph.peaks[p]);
  }
}

// Judges counts one by one, each by its graph. If there are counts beyond these, they are open
// unless a derived judge settles them.
class GraphJudge : public Judge {
 public:
  GraphJudge(const Program& program, const VerifyOptions& options)
      : program_(program), options_(options) {}
  // Judges the counts in range that are below `end` one by one, as long as they do not have too
  // many tasks. `problem` tells why further counts are open.
  void add_graphs(std::int64_t end, std::optional<spec::Diagnostic> problem) {
    Budget tasks{kMostGraphTasks};
    for (int m = program_.microbatches.min; m < end && program_.microbatches.contains(m); ++m) {
      const bool few = tasks.spend(static_cast<std::uint64_t>(m) * program_.lanes.size());
      if (!few && m > program_.microbatches.min) break;
      graphs_.emplace(m, run_order(program_, m, Slots::unbounded));
    }
    problem_ = std::move(problem);
  }

  Finding once() final {
    for (auto each = graphs_.begin(); !once_ && each != graphs_.end(); ++each) {
      once_ = not_listed_once(program_, each->first, each->second);
    }
    if (!once_) once_ = once_beyond();
    return *once_;
  }
  Finding deadlock() final;
  MemoryFinding memory() final {
    if (once().outcome == Outcome::proved) return peaks();
    return {not_asked()};
  }
  // Judges the memory of an order that has each task once.
  MemoryFinding peaks();

 protected:
  // The findings for the counts beyond the graphs. All except once_beyond() require that the order
  // has each task once; deadlock_beyond() also requires that timing cannot change what runs.
  virtual Finding once_beyond() { return problem_ ? not_settled() : proved(); }
  virtual Finding deadlock_beyond() { return once_beyond(); }
  // Judges asserted peaks. If the finding is unknown without a reason, states are visited. Without
  // a proof for further counts, only the guards bound memory, by the capacities.
  virtual Finding asserted_peaks_beyond() {
    if (!problem_) return proved();
    return program_.assertions.empty() ? by_structure() : not_settled();
  }
  // For each pool the greatest amount for any count; nullopt if the amount grows with the count.
  // `known` has for each pool the amount in graphs, which is raised if further graphs hold more.
  virtual PoolBounds bounds_beyond(std::vector<std::int64_t>& known) {
    return problem_ ? capacities_of(program_) : PoolBounds(known.begin(), known.end());
  }
  // Judges memory if tasks run side by side: graphs do not show how much these hold, but guards
  // enforce capacities.
  virtual MemoryFinding peaks_side_by_side() {
    MemoryFinding found{program_.assertions.empty() ? by_structure() : peaks_by_states()};
    if (found.finding.outcome == Outcome::proved) found.bounds = capacities_of(program_);
    return found;
  }
  // True if no run sticks, whichever engine is faster.
  virtual bool never_sticks() { return false; }

  static Finding proved() { return {.outcome = Outcome::proved, .method = Method::graph}; }
  [[nodiscard]] Finding not_settled() const {
    return {.reason = fmt::format(
                "For so many microbatch counts an order's counts must be linear in them: {}. Each "
                "count from {} to {}, judged by itself, was found to be safe.",
                problem_->message, graphs_.begin()->first, graphs_.rbegin()->first),
            .span = problem_->span};
  }

  const Program& program_;
  VerifyOptions options_;
  std::map<int, OrderRunResult> graphs_;  // by count of microbatches; slots unbounded
  std::optional<spec::Diagnostic> problem_;

 private:
  [[nodiscard]] static Finding not_asked() {
    return {.reason = "Not asked, since it is not known that the order has each task once."};
  }
  [[nodiscard]] Finding deadlock_by_states(const std::string& timing) const;
  [[nodiscard]] Finding peaks_by_states() const;

  std::optional<Finding> once_;  // the other obligations depend on it
};

// Graphs and cuts show which tasks run only if timing cannot change this. Both also require that
// each task is listed once, since no rank can pass an entry whose task is missing or doubled.
Finding GraphJudge::deadlock() {
  if (const auto timing = depends_on_timing(program_)) {
    if (once().outcome != Outcome::proved || !never_sticks()) return deadlock_by_states(*timing);
    return {.outcome = Outcome::proved, .method = Method::cuts};
  }
  const Finding listed = once();
  if (listed.counterexample) {
    const int m = listed.counterexample->microbatches;
    auto found = stuck(program_, m, m == program_.microbatches.min, Method::graph);
    if (!found) return not_asked();
    found->reason = listed.reason + " " + found->reason;
    return *found;
  }
  const bool is_once = listed.outcome == Outcome::proved;
  for (const auto& [m, graph] : graphs_) {
    const bool ends =
        is_once ? graph.finished && program_.inboxes.empty() : graph.invalid.has_value();
    if (ends) continue;
    // Without bounded links, the graph is a run with the slots that links have.
    const auto found = program_.inboxes.empty() ? stuck(program_, m, true, Method::graph, graph)
                                                : stuck(program_, m, true, Method::graph);
    if (found) return *found;
    const auto overflow = is_once ? find_overflow(program_, m) : std::nullopt;
    if (overflow) return overfull(program_, m, *overflow, Method::graph);
  }
  return is_once ? deadlock_beyond() : not_asked();
}

// Visits a few counts state by state, since either of two engines may be faster.
Finding GraphJudge::deadlock_by_states(const std::string& timing) const {
  Budget budget{options_.search_states};
  const auto ask = [&](int m, bool fewest) -> CountAnswer {
    for (int rank = 0; rank < program_.ranks; ++rank) {
      if (expand(program_, order_of(program_), rank, m).ok()) continue;
      return {CountAnswer::What::settled, {.reason = "Not asked: see once."}};
    }
    const HuntResult hunted = hunt(
        program_, m, Goal{}, false, [] { return std::optional<Target>(); }, budget);
    // An order leaves no other choices, so the dispatch could make this run; no search shows it.
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

MemoryFinding GraphJudge::peaks() {
  if (has_other_engines(program_)) return peaks_side_by_side();
  MemoryFinding found{proved()};
  std::vector<std::int64_t> known(program_.pools.size(), 0);
  for (const auto& [m, graph] : graphs_) {
    if (found.finding.outcome == Outcome::proved) {
      found.finding = asserted_peaks_of(program_, m, graph);
    }
    for (std::size_t p = 0; p < known.size(); ++p) known[p] = std::max(known[p], graph.peaks[p]);
  }
  if (found.finding.outcome == Outcome::proved) found.finding = asserted_peaks_beyond();
  const bool undecided = found.finding.outcome == Outcome::unknown && found.finding.reason.empty();
  if (undecided) found.finding = peaks_by_states();
  if (found.finding.outcome != Outcome::proved) return found;
  found.bounds = bounds_beyond(known);
  // If only needs and room delay tasks, each count's run holds the amounts that its graph shows.
  if (program_.pairs.empty() && program_.inboxes.empty()) found.held = std::move(known);
  return found;
}

// Judges asserted peaks by states, if tasks run side by side or links keep ranks from a peak.
Finding GraphJudge::peaks_by_states() const {
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

// Judges all counts at once by cuts; with streams, the counts from a first one on, by remainder.
class CutJudge final : public GraphJudge {
 public:
  CutJudge(const Program& program, const VerifyOptions& options, const CutInput& asked);

  // Why cuts do not settle the order. If has_cuts(), only the deadlock is not settled.
  [[nodiscard]] const std::optional<spec::Diagnostic>& problem() const { return problem_; }
  [[nodiscard]] bool has_cuts() const { return !cuts_.empty(); }
  // The first count that the cuts include.
  [[nodiscard]] std::int64_t first() const { return first_; }

 private:
  using Ask = std::function<Term(CutQueries&)>;

  Finding once_beyond() override {
    return by_fewest(
        "once", [](CutQueries& cuts) { return cuts.not_once(); },
        [&](int m) {
          Finding found =
              not_listed_once(program_, m, run_order(program_, m, Slots::unbounded))
                  .value_or(not_confirmed("The order is not each task once", m, Method::cuts));
          found.method = Method::cuts;
          return found;
        });
  }
  // Without another engine, room depends only on the rank's own position: a rank never passes a
  // position without room, whatever other ranks do. So two questions are asked, and if some run
  // sticks, the answer to one is yes.
  Finding deadlock_beyond() override {
    if (problem_) return not_settled();
    // With several engines, room may be released later; in a stuck cut, some rank never gets room.
    const bool several = has_other_engines(program_);
    // The two questions are easier to answer apart.
    const bool safe = std::all_of(cuts_.begin(), cuts_.end(), [&](CutQueries& cuts) {
      Solver& solver = cuts.solver();
      return (several ||
              solver.check("deadlock: a place without room", {cuts.no_room()}) == Answer::unsat) &&
             solver.check("deadlock: a stuck cut", {cuts.stuck_cut()}) == Answer::unsat;
    });
    if (safe) return slots();
    const Ask stuck_or_full = [&](CutQueries& cuts) {
      if (several) return cuts.stuck_cut();
      return cuts.solver().any_of({cuts.no_room(), cuts.stuck_cut()});
    };
    const Finding found = by_fewest("deadlock", stuck_or_full, [&](int m) -> Finding {
      // With fewer than m microbatches, only slots can make the order stick.
      if (!program_.inboxes.empty()) {
        Finding full = slots();
        const auto& run = full.counterexample;
        if (full.outcome == Outcome::refuted && run && run->microbatches < m) return full;
      }
      return stuck(program_, m, true, Method::cuts)
          .value_or(not_confirmed("The order deadlocks", m, Method::cuts));
    });
    return found.outcome == Outcome::proved ? slots() : found;
  }
  Finding asserted_peaks_beyond() override {
    const auto asserted = [](CutQueries& cuts) {
      return asserted_bounds(cuts.program(), cuts.solver(), cuts.microbatches());
    };
    for (CutQueries& cuts : cuts_) {
      const auto bounds = asserted(cuts);
      if (!bounds.ok()) return not_known(bounds.errors().front());
    }
    const Ask broken = [&](CutQueries& cuts) {
      const auto bounds = asserted(cuts);
      std::vector<Term> ways;
      for (const AssertedBound& b : bounds.value()) ways.push_back(cuts.above(b.pool, b.bound));
      return cuts.solver().any_of(ways);
    };
    return by_fewest("memory: an assertion broken", broken,
                     [&](int m) { return assertion_broken(m); });
  }
  PoolBounds bounds_beyond(std::vector<std::int64_t>& known) override {
    raise_to_sample(program_, known);
    return least_above(known);
  }
  MemoryFinding peaks_side_by_side() override {
    if (!graphs_.empty()) return GraphJudge::peaks_side_by_side();
    MemoryFinding found{asserted_peaks_beyond()};
    const bool is_proved = found.finding.outcome == Outcome::proved;
    if (is_proved) found.bounds = least_above(std::vector<std::int64_t>(program_.pools.size(), 0));
    if (is_proved || program_.assertions.empty()) return found;
    return GraphJudge::peaks_side_by_side();
  }
  // A stuck run ends at a consistent cut at which each rank lacks something, so if there is no such
  // cut, and no consistent cut at which an inbox overflows, no run sticks, for any timing. The
  // converse is not true here: perhaps no run reaches the cut that was found, so it refutes
  // nothing.
  bool never_sticks() override {
    return graphs_.empty() && std::all_of(cuts_.begin(), cuts_.end(), [](CutQueries& cuts) {
             Solver& solver = cuts.solver();
             return solver.check("deadlock: a stuck cut", {cuts.stuck_cut()}) == Answer::unsat &&
                    solver.check("deadlock: an inbox overfull", {cuts.overfull()}) == Answer::unsat;
           });
  }

  // The finding for the fewest microbatches for which the term is true in some cuts; proved if it
  // is true for no count.
  Finding by_fewest(const std::string& about, const Ask& bad,
                    const std::function<Finding(int microbatches)>& finding_of) {
    std::optional<int> fewest;
    for (CutQueries& cuts : cuts_) {
      std::vector<Term> extra{bad(cuts)};
      if (fewest) extra.push_back(cuts.microbatches() <= cuts.solver().number(*fewest));
      if (cuts.solver().check(about, extra) == Answer::unsat) continue;
      const auto count = least(cuts.solver(), about + ": fewest microbatches", cuts.microbatches(),
                               program_.microbatches.min, extra);
      if (!count) return {.method = Method::cuts, .reason = "The solver gave up within its steps."};
      fewest = static_cast<int>(*count);
    }
    return fewest ? finding_of(*fewest)
                  : Finding{.outcome = Outcome::proved, .method = Method::cuts};
  }

  // If slots suffice for all messages that may wait at a consistent cut, links delay no rank, and
  // the proof without slots is valid. If not, some run fills the slots with messages that are taken
  // late.
  Finding slots() {
    return by_fewest(
        "deadlock: an inbox overfull", [](CutQueries& cuts) { return cuts.overfull(); },
        [&](int m) -> Finding {
          if (const auto refuted = stuck(program_, m, true, Method::cuts)) return *refuted;
          const auto overflow = find_overflow(program_, m);
          if (overflow) return overfull(program_, m, *overflow, Method::cuts);
          return not_confirmed("Some link has too few slots", m, Method::cuts);
        });
  }
  // The finding for a count at which some cut violates an assertion.
  Finding assertion_broken(int microbatches) const {
    if (has_other_engines(program_)) return {};
    Finding broken =
        bound_broken(program_, microbatches, run_order(program_, microbatches, Slots::as_given));
    broken.method = Method::cuts;
    if (broken.outcome == Outcome::refuted) return broken;
    if (!program_.pairs.empty()) return {};
    if (!is_short(program_)) {
      return {
          .method = Method::cuts,
          .reason = fmt::format("A place in the order breaks an assertion {}, but no run reaches "
                                "it; other counts were not searched.",
                                with_microbatches(microbatches))};
    }
    // Runs stick before the position that breaks the assertion, so each count is judged by itself.
    const auto ask = [&](int m, bool /*fewest*/) -> CountAnswer {
      Finding one = asserted_peaks_of(program_, m, run_order(program_, m, Slots::unbounded));
      if (one.outcome == Outcome::proved) return {CountAnswer::What::safe};
      return {CountAnswer::What::settled, std::move(one)};
    };
    const CountAnswers answers = each_count({.range = program_.microbatches}, ask);
    return answers.settled.value_or(Finding{.outcome = Outcome::proved, .method = Method::graph});
  }
  PoolBounds least_above(std::vector<std::int64_t> known) {
    PoolBounds most(known.begin(), known.end());
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

  std::int64_t first_;
  std::list<CutQueries> cuts_;  // with streams, by remainder
};

CutJudge::CutJudge(const Program& program, const VerifyOptions& options, const CutInput& asked)
    : GraphJudge(program, options), first_(program.microbatches.min) {
  const spec::Order& order = order_of(program);
  if (order.streams.empty()) {
    cuts_.emplace_back(asked, options.solver_steps);
    problem_ = cuts_.back().problem();
    if (problem_) cuts_.clear();
  } else {
    const PeriodicFamily family = periodic_family(program, order);
    spec::Diagnostic why{"order-not-linear", family.problem, "", family.span};
    if (why.message.empty()) {
      first_ = family.first_microbatches();
      const std::int64_t most = kMostGraphTasks / static_cast<std::int64_t>(program.lanes.size());
      constexpr int kNone = std::numeric_limits<int>::max();
      if (first_ > program.microbatches.max.value_or(kNone) || first_ * first_ > most) {
        why.message = fmt::format("they are only from {} microbatches on", first_);
        why.span = order.span;
      }
    }
    if (!why.message.empty()) problem_ = why;
    for (std::int64_t remainder = 0; !problem_ && remainder < family.period; ++remainder) {
      cuts_.emplace_back(asked, options.solver_steps, family, remainder);
    }
  }
  if (!problem_) problem_ = beyond_cuts(program);
}

std::unique_ptr<GraphJudge> by_cuts_or_graphs(const Program& program, const VerifyOptions& options,
                                              const CutInput& asked) {
  const auto& range = program.microbatches;
  const std::int64_t sampled = std::int64_t{range.min} + kSampled;
  std::optional<spec::Diagnostic> problem;
  if (range.max != range.min && !(is_short(program) && !order_of(program).streams.empty())) {
    auto cuts = std::make_unique<CutJudge>(program, options, asked);
    problem = cuts->problem();
    if (!problem || (cuts->has_cuts() && !is_short(program))) {
      cuts->add_graphs(problem ? std::max(sampled, cuts->first()) : cuts->first(), problem);
      return cuts;
    }
  }
  const bool all = is_short(program);
  auto graphs = std::make_unique<GraphJudge>(program, options);
  graphs->add_graphs(all ? std::int64_t{*range.max} + 1 : sampled, all ? std::nullopt : problem);
  return graphs;
}

// Judges every count by the times of its tasks, which prove all obligations except perhaps memory.
class TimesJudge final : public Judge {
 public:
  TimesJudge(const Program& program, const VerifyOptions& options, const CutInput& asked,
             EveryCount times)
      : program_(program), options_(options), asked_(asked), times_(std::move(times)) {}

  Finding once() override { return {.outcome = Outcome::proved, .method = Method::cuts}; }
  Finding deadlock() override { return once(); }
  MemoryFinding memory() override {
    if (!times_.memory) return by_cuts_or_graphs(program_, options_, asked_)->peaks();
    MemoryFinding found{once(), times_.bounds};
    if (!program_.pairs.empty()) return found;
    found.held.assign(program_.pools.size(), 0);
    raise_to_sample(program_, found.held);
    for (std::size_t p = 0; p < found.held.size(); ++p) {
      if (found.bounds[p]) found.held[p] = *found.bounds[p];  // the order reaches this amount
    }
    return found;
  }

 private:
  const Program& program_;
  const VerifyOptions& options_;
  const CutInput& asked_;
  EveryCount times_;
};

}  // namespace

Judge& OrderJudge::chosen() {
  if (chosen_) return *chosen_;
  const auto& range = program_.microbatches;
  // If each count can be judged by its graph, graphs tell more than times.
  bool may_have_times = !asked_.reread && range.max != range.min;
  if (may_have_times && is_short(program_)) {
    may_have_times =
        order_of(program_).streams.empty() && !CutQueries(asked_, SolverUse::writing()).problem();
  }
  std::optional<EveryCount> times;
  if (may_have_times) times = prove_every_count(asked_.program);
  if (times) {
    chosen_ = std::make_unique<TimesJudge>(program_, options_, asked_, *std::move(times));
  } else {
    chosen_ = by_cuts_or_graphs(program_, options_, asked_);
  }
  return *chosen_;
}

}  // namespace ripeline::verify
