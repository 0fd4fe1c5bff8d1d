#include "certificates/order_evidence.h"

#include <fmt/format.h>

#include "certificates/order_graph.h"
#include "verify/judge/bounds.h"
#include "verify/order/cuts.h"
#include "verify/order/order_run.h"
#include "verify/solver/solver.h"

namespace ripeline::certificates {

using spec::Program;
using verify::ObligationKind;
using verify::Term;

namespace {

// A certificate with more tasks would be too long to read.
constexpr std::int64_t kMostTasks = 4'000'000;
// The greatest number of counts whose states are visited.
constexpr std::int64_t kMostCounts = 64;
// Limits the counters in questions. A rank has one per lane at each position of its order.
constexpr std::int64_t kMostPlaceCounts = 2'000'000;

bool too_many_places(const Program& program, const verify::PeriodicFamily& family) {
  std::int64_t counts = 0;
  for (const verify::PeriodicOrder& order : family.orders) {
    for (int rank = 0; rank < program.ranks; ++rank) {
      std::int64_t places = 1;
      for (const verify::PeriodicRun& run : at(order.ranks, rank)) places += size_of(run.lanes);
      counts += places * (program.first_lane(rank + 1) - program.first_lane(rank));
      if (counts > kMostPlaceCounts) return true;
    }
  }
  return false;
}

}  // namespace

Question question_of(const std::string& name, const verify::Solver& solver,
                     const std::vector<Term>& terms, std::size_t required, bool satisfiable) {
  const std::string title =
      fmt::format("{}\n; {} when the claim is right", name, satisfiable ? "sat" : "unsat");
  return {name, solver.script(title, terms, required), satisfiable};
}

bool covers_range(const Program& program, const std::vector<int>& counts) {
  if (!program.microbatches.max) return false;
  for (int m = program.microbatches.min; m <= *program.microbatches.max; ++m) {
    if (std::find(counts.begin(), counts.end(), m) == counts.end()) return false;
  }
  return true;
}

bool too_many_tasks(const Program& program, const std::vector<int>& counts) {
  std::int64_t tasks = 0;
  for (const int m : counts) {
    tasks += std::int64_t{m} * size_of(program.lanes);
    if (tasks > kMostTasks) return true;
  }
  return false;
}

std::vector<int> counts_in_range(const Program& program) {
  const auto& range = program.microbatches;
  if (!range.max || std::int64_t{*range.max} - range.min >= kMostCounts) return {};
  std::vector<int> counts;
  for (int m = range.min; m <= *range.max; ++m) counts.push_back(m);
  return too_many_tasks(program, counts) ? std::vector<int>() : counts;
}

bool peaks_are_capacities(const Program& program, const Claim& claim) {
  for (int p = 0; p < size_of(program.pools); ++p) {
    if (at(claim.peaks, p) != at(program.pools, p).capacity) return false;
  }
  return true;
}

OrderEvidence::Cuts::Cuts(const Program& program)
    : queries(program, verify::SolverUse::writing()) {}
OrderEvidence::Cuts::Cuts(const Program& program, const verify::PeriodicFamily& family,
                          std::int64_t remainder)
    : queries(program, verify::SolverUse::writing(), family, remainder),
      which(fmt::format(", remainder {} of {}", remainder, family.period)) {}

bool OrderEvidence::proved(const Claim& claim) {
  const bool asked =
      claim.obligation == ObligationKind::deadlock || claim.obligation == ObligationKind::memory;
  if (claim.method == verify::Method::states && asked) {
    by_states(claim);
  } else if (claim.method == verify::Method::cuts &&
             (asked || claim.obligation == ObligationKind::once)) {
    by_cuts(claim);
  } else if (claim.method == verify::Method::graph &&
             (asked || claim.obligation == ObligationKind::once)) {
    by_graph(claim);
  } else {
    return false;
  }
  return true;
}

void OrderEvidence::refuted(const Claim& claim) {
  if (has_cycle(program_, claim.microbatches)) graphs_[claim.microbatches].cycle = true;
}

// True if there are queries for the solver; otherwise records a gap in the evidence.
bool OrderEvidence::make_cuts() {
  if (!cuts_.empty()) return true;
  if (const auto why = verify::beyond_cuts(program_)) {
    gap("Cuts cannot follow the program: " + why->message + ".");
    return false;
  }
  const spec::Order& order = at(program_.orders, program_.dispatch.order);
  if (order.streams.empty()) {
    cuts_.emplace_back(program_);
    const auto& problem = cuts_.front().queries.problem();
    if (!problem) {
      cuts_.front().asked.push_back({"places: some cut", {}, true});
      return true;
    }
    cuts_.clear();  // perhaps counts are linear for each remainder
  }
  const verify::PeriodicFamily family = verify::periodic_family(program_, order);
  if (!family.problem.empty()) {
    gap("The order has no period: " + family.problem + ".");
    return false;
  }
  if (too_many_places(program_, family)) {
    gap("So many places of an order are not what certificates can carry.");
    return false;
  }
  for (std::int64_t remainder = 0; remainder < family.period; ++remainder) {
    cuts_.emplace_back(program_, family, remainder);
  }
  first_by_cuts_ = family.first_microbatches();
  return true;
}

void OrderEvidence::by_cuts(const Claim& claim) {
  if (!make_cuts()) return;
  for (Cuts& cuts : cuts_) ask_cuts(claim, cuts);
  // With streams, each count below first_by_cuts_ is judged by its own graph.
  if (first_by_cuts_ > program_.microbatches.min) by_graph_until(claim, first_by_cuts_);
}

void OrderEvidence::ask_cuts(const Claim& claim, Cuts& cuts) {
  const auto ask = [&](const std::string& name, Term bad) {
    cuts.asked.push_back({name + cuts.which, bad});
  };
  if (claim.obligation == ObligationKind::once) {
    ask("once: an order that is not each task once", cuts.queries.not_once());
  } else if (claim.obligation == ObligationKind::deadlock) {
    if (!has_other_engines(program_)) {
      ask("deadlock: a place without room", cuts.queries.no_room());
    }
    ask("deadlock: a stuck cut", cuts.queries.stuck_cut());
    if (!program_.inboxes.empty()) ask("deadlock: an inbox overfull", cuts.queries.overfull());
  } else if (claim.obligation == ObligationKind::memory) {
    verify::Solver& solver = cuts.queries.solver();
    const auto asserted = asserted_bounds(program_, solver, cuts.queries.microbatches());
    if (!asserted.ok()) return gap("An asserted bound is not linear.");
    std::vector<Term> broken;
    std::vector<Term> above;
    for (const verify::AssertedBound& b : asserted.value()) {
      broken.push_back(cuts.queries.above(b.pool, b.bound));
    }
    for (int p = 0; p < size_of(program_.pools); ++p) {
      const auto& peak = at(claim.peaks, p);
      if (peak) above.push_back(cuts.queries.above(p, solver.number(*peak)));
    }
    if (!broken.empty()) ask("memory: an assertion broken", solver.any_of(broken));
    if (!above.empty()) ask("memory: a peak exceeded", solver.any_of(above));
  }
}

// Adds a visit of every state for each count: all states that Machine can reach with the order.
void OrderEvidence::by_states(const Claim& claim) {
  const std::vector<int> counts = counts_in_range(program_);
  if (counts.empty()) return gap("Too many states would have to be visited.");
  for (const int m : counts) {
    found_.explorations.push_back({claim.obligation, m, 1, claim.peaks});
  }
}

void OrderEvidence::by_graph(const Claim& claim) {
  const auto& range = program_.microbatches;
  if (!range.max) return gap("So many graphs are not what certificates can carry.");
  by_graph_until(claim, std::int64_t{*range.max} + 1);
}

// A graph shows one run. This suffices for memory if ranks run one task at a time, and for deadlock
// if timing cannot change which tasks run. Otherwise the result names what a graph does not show.
std::optional<std::string> OrderEvidence::beyond_graphs(const Claim& claim) const {
  if (claim.obligation == ObligationKind::memory && has_other_engines(program_)) {
    return "what several engines of a rank hold side by side";
  }
  if (claim.obligation != ObligationKind::deadlock) return std::nullopt;
  if (const auto timing = verify::depends_on_timing(program_))
    return *timing + " on two engines, which";
  if (!program_.inboxes.empty() && room_comes_from_elsewhere()) {
    return "how far a rank runs ahead over bounded links when another engine frees its room";
  }
  return std::nullopt;
}

bool OrderEvidence::room_comes_from_elsewhere() const {
  for (const spec::Lane& taker : program_.lanes) {
    for (const spec::Acquire& a : taker.acquires) {
      if (!at(program_.pools, a.pool).capacity) continue;
      for (const spec::Lane& giver : program_.lanes) {
        if (giver.rank != taker.rank || giver.engine == taker.engine) continue;
        for (const spec::Release& r : giver.releases) {
          if (r.pool == a.pool) return true;
        }
      }
    }
  }
  return false;
}

void OrderEvidence::by_graph_until(const Claim& claim, std::int64_t end) {
  if (const auto beyond = beyond_graphs(claim)) {
    return gap(fmt::format("A graph does not show {}.", *beyond));
  }
  const auto& range = program_.microbatches;
  std::vector<int> counts;
  if (end - range.min < kMostTasks) {
    for (std::int64_t m = range.min; m < end && m <= range.max.value_or(m); ++m) {
      counts.push_back(static_cast<int>(m));
    }
  }
  if (counts.empty() || too_many_tasks(program_, counts)) {
    return gap("So many graphs are not what certificates can carry.");
  }
  for (const int m : counts) {
    GraphEvidence& graph = graphs_[m];
    graph.once = graph.once || claim.obligation == ObligationKind::once;
    graph.order = graph.order || claim.obligation == ObligationKind::deadlock;
    graph.run = graph.run || claim.obligation == ObligationKind::deadlock ||
                claim.obligation == ObligationKind::memory;
  }
}

void OrderEvidence::finish() {
  for (Cuts& cuts : cuts_) {
    verify::Solver& solver = cuts.queries.solver();
    for (const AskedTerms& a : cuts.asked) {
      const std::vector<Term> terms = a.satisfiable ? std::vector<Term>() : std::vector{a.bad};
      found_.questions.push_back(
          question_of(a.name, solver, terms, solver.required(), a.satisfiable));
    }
  }
  for (auto& [m, graph] : graphs_) {
    const auto text = graph_text(program_, m);
    if (!text) {
      gap(fmt::format("The order has no meaning with {} microbatches.", m));
      continue;
    }
    graph.microbatches = m;
    graph.text = *text;
    found_.graphs.push_back(graph);
  }
}

}  // namespace ripeline::certificates
