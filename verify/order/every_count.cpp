// Every count: times judge each remainder from its first q on, and graphs judge smaller counts.
#include "verify/order/every_count.h"

#include <algorithm>
#include <utility>

#include "spec/guards.h"
#include "spec/indexing.h"
#include "verify/judge/bounds.h"
#include "verify/order/affine.h"
#include "verify/order/order_run.h"
#include "verify/order/periods.h"
#include "verify/order/times.h"

namespace ripeline::verify {

using spec::Program;

namespace {

// True if tasks wait only for needs, for room and for their turn in the order.
bool waits_for_tasks_alone(const Program& program) {
  return !has_other_engines(program) && program.inboxes.empty() &&
         !at(program.orders, program.dispatch.order).file &&
         std::none_of(program.edges.begin(), program.edges.end(),
                      [](const spec::Edge& e) { return e.rendezvous; });
}

// True if tasks side by side use one pool, so that one may hold room there but count as ended.
bool holds_beside(const Program& program) {
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    for (const int other : spec::guards_of(program, lane).beside) {
      for (const spec::Release& r : at(program.lanes, other).releases) {
        for (const spec::Acquire& a : at(program.lanes, lane).acquires) {
          if (a.pool == r.pool) return true;
        }
      }
    }
  }
  return false;
}

class Prover {
 public:
  explicit Prover(const Program& program) : program_(program) {}

  std::optional<EveryCount> all() {
    const spec::Order& order = at(program_.orders, program_.dispatch.order);
    const PeriodicFamily family = periodic_family(program_, order);
    if (!family.problem.empty()) return std::nullopt;
    found_.memory = !holds_beside(program_);
    found_.bounds.assign(program_.pools.size(), 0);
    for (std::int64_t remainder = 0; remainder < family.period; ++remainder) {
      if (!of_remainder(family, remainder)) return std::nullopt;
    }
    for (const int microbatches : below_) {
      if (!of_count(microbatches)) return std::nullopt;
    }
    return std::move(found_);
  }

 private:
  bool of_remainder(const PeriodicFamily& family, std::int64_t remainder) {
    const PeriodicOrder& order = at(family.orders, static_cast<int>(remainder));
    const InQ microbatches{family.period, remainder};
    const auto count = [&](std::int64_t q) { return family.period * q + remainder; };
    const auto& [min, max] = program_.microbatches;
    for (std::int64_t q = 0; q < order.first && (!max || count(q) <= *max); ++q) {
      if (count(q) < min) continue;
      tasks_ += count(q) * size_of(program_.lanes);
      if (tasks_ > kMostGraphTasks) return false;
      below_.push_back(static_cast<int>(count(q)));
    }
    QRange range{order.first, std::nullopt};
    if (max) {
      if (count(range.first) > *max) return true;
      range.last = (*max - remainder) / family.period;
    }
    const AffineOrder affine = affine_order(program_, order, microbatches, range);
    if (affine.too_large || !has_each_once(program_, affine)) return false;
    const auto waits = waits_of(program_, affine);
    if (!waits || !bases_for(affine.lanes.size(), waits->edges)) return false;
    return has_room(affine);
  }

  bool has_room(const AffineOrder& order) {
    auto asserted = asserted_in_q(program_, order.microbatches, order.range.first);
    found_.memory = found_.memory && asserted;
    if (!asserted) asserted.emplace(program_.pools.size());
    const AffinePeaks peaks = affine_peaks(program_, order, *asserted);
    found_.memory = found_.memory && peaks.asserted;
    for (std::size_t p = 0; p < peaks.most.size(); ++p) hold(p, peaks.most[p]);
    return peaks.room;
  }

  bool of_count(int microbatches) {
    const OrderRunResult graph = run_order(program_, microbatches, Slots::unbounded);
    if (graph.invalid || !graph.not_once.empty() || !graph.finished) return false;
    if (!found_.memory) return true;
    found_.memory = !bound_without_value(program_, microbatches);
    const Goal goal = goal_of_assertions(program_, microbatches);
    for (std::size_t p = 0; p < graph.peaks.size(); ++p) {
      hold(p, graph.peaks[p]);
      if (goal.bounds[p] && graph.peaks[p] > *goal.bounds[p]) found_.memory = false;
    }
    return true;
  }

  void hold(std::size_t pool, std::optional<std::int64_t> most) {
    auto& bound = found_.bounds[pool];
    bound = bound && most ? std::optional(std::max(*bound, *most)) : std::nullopt;
  }

  const Program& program_;
  EveryCount found_;
  std::vector<int> below_;  // counts judged by their graphs
  std::int64_t tasks_ = 0;  // in the graphs of these counts
};

}  // namespace

std::optional<EveryCount> prove_every_count(const Program& program) {
  if (!waits_for_tasks_alone(program)) return std::nullopt;
  return Prover(program).all();
}

}  // namespace ripeline::verify
