// Times: the weights of pairs of positions, and a search for bases.
//
// Take a position of a task and a position of a task that it needs. They meet at those turns t and
// u and those q for which the first task needs the second. This is one equation in t, u and q. It
// determines u; what remains is to bound an affine value over an interval of t that depends on q.
// The bound is over all real t and u, which include all turns.
#include "verify/order/times.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "spec/indexing.h"
#include "spec/long_work.h"

namespace ripeline::verify {

using spec::Program;

namespace {

// The time of a step, longer than any chain of waits within a turn, so that turns are in order.
constexpr std::int64_t kTimeOfStep = std::int64_t{1} << 20;
// With these limits and those of affine.cpp no product needs more than 126 bits.
constexpr std::int64_t kMostTimeOfTurn = std::int64_t{1} << 38;
constexpr std::int64_t kMostWeight = std::int64_t{1} << 45;
constexpr std::int64_t kMostTime = std::int64_t{1} << 60;
constexpr int kMostSweeps = 64;
// If an order (for one remainder) has more pairs of positions than this, a solver is asked.
constexpr std::int64_t kMostPairs = 20'000'000;

Wide floor_of(Wide a, Wide b) {  // b > 0
  return a / b - (a % b < 0 ? 1 : 0);
}

// Each rank runs through its order at its own pace, such that all reach the end together. Any pace
// is sound; with these, tasks that exchange messages stay equally far apart in time.
std::optional<std::vector<Pace>> paces_of(const Program& program, const AffineOrder& order) {
  std::vector<std::int64_t> in_q(static_cast<std::size_t>(program.ranks), 0);
  for (const AffineRun& run : order.runs) {
    if (run.turns.slope < 0) return std::nullopt;
    at(in_q, run.rank) += run.steps * run.turns.slope;
  }
  std::int64_t all = 1;
  for (std::int64_t& steps : in_q) {
    steps = std::max<std::int64_t>(steps, 1);
    if (steps > kTimeOfStep) return std::nullopt;
    all = std::lcm(all, steps);
    if (all > kTimeOfStep) return std::nullopt;
  }
  std::vector<Pace> paces;
  Wide slope = 0;
  for (std::size_t i = 0; i < order.runs.size(); ++i) {
    const AffineRun& run = order.runs[i];
    if (i == 0 || order.runs[i - 1].rank != run.rank) slope = 0;
    const Wide turn = kTimeOfStep * run.steps * (all / at(in_q, run.rank));
    if (turn > kMostTimeOfTurn) return std::nullopt;
    paces.push_back({turn, slope});
    slope += turn * run.turns.slope;
  }
  return paces;
}

// The least number by which `after` must exceed `before`; `meets` is false if these never meet.
struct Weight {
  bool meets = false;
  std::optional<Wide> least;  // nullopt if no weight suffices
};

// A bound of t, with the value (slope * q + base) / divisor.
struct LinearBound {
  Wide slope = 0;
  Wide base = 0;
  Wide divisor = 1;
};

class Edges {
 public:
  Edges(const Program& program, const AffineOrder& order, std::vector<Pace> paces)
      : program_(program), order_(order), paces_(std::move(paces)) {}

  std::optional<std::vector<TimeEdge>> all() {
    for (int run = 0; run < size_of(order_.runs); ++run) add_run(run);
    for (const spec::Edge& edge : program_.edges) {
      spec::stop_point();
      const auto needed = last_needed(program_, order_, edge);
      if (!needed) return std::nullopt;
      for (const LaneInRun& consumer : at(order_.of_lane, edge.consumer)) {
        for (const LaneInRun& producer : at(order_.of_lane, edge.producer)) {
          add_needs(consumer, producer, *needed);
        }
      }
    }
    if (impossible_) return std::nullopt;
    return std::move(edges_);
  }

 private:
  void add(WaitKind kind, int before, int after, const Weight& weight) {
    if (!weight.meets) return;
    if (!weight.least || *weight.least > kMostWeight) {
      impossible_ = true;
      return;
    }
    const auto least = static_cast<std::int64_t>(std::max<Wide>(*weight.least, -kMostWeight));
    edges_.push_back({kind, before, after, least});
  }

  void add_run(int number) {
    const AffineRun& run = at(order_.runs, number);
    const int last = run.first_position + run.steps - 1;
    for (int position = run.first_position; position < last; ++position) {
      add(WaitKind::step, position, position + 1, {true, 1});
    }
    const bool again =
        where_not_negative(order_.range, run.turns.slope, Wide{run.turns.base} - 2).has_value();
    add(WaitKind::turn, last, run.first_position, {again, 1 - at(paces_, number).turn});
    // Adds edges to later runs that may have turns, up to the first that has a turn for every q.
    for (int next = number + 1; next < size_of(order_.runs); ++next) {
      const AffineRun& later = at(order_.runs, next);
      if (later.rank != run.rank) break;
      add(WaitKind::run, last, later.first_position, from_run_to(number, next));
      const auto none = most(order_.range, -Wide{later.turns.slope}, -Wide{later.turns.base});
      if (none && *none < 0) break;
    }
  }

  // The weight from the last turn of a run to the first turn of a later one.
  Weight from_run_to(int number, int next) const {
    const AffineRun& run = at(order_.runs, number);
    const AffineRun& later = at(order_.runs, next);
    const auto runs = where_not_negative(order_.range, run.turns.slope, Wide{run.turns.base} - 1);
    if (!runs) return {};
    const auto both = where_not_negative(*runs, later.turns.slope, Wide{later.turns.base} - 1);
    if (!both) return {};
    const Pace& pace = at(paces_, number);
    const auto ahead =
        most(*both, pace.turn * run.turns.slope + pace.slope - at(paces_, next).slope,
             pace.turn * (run.turns.base - 1));
    if (!ahead) return {true, std::nullopt};
    return {true, *ahead + 1};
  }

  // Adds edges from needed tasks of the producer to the consumer's tasks each * t + before + j.
  void add_needs(const LaneInRun& consumer, const LaneInRun& producer, const InTurn& needed) {
    InTurn number;  // the number that the task at positions[0] needs, minus the producer's `before`
    number.turn = has_one_turn(consumer) ? 0 : needed.turn * consumer.each();
    number.slope = needed.turn * consumer.before.slope + needed.slope - producer.before.slope;
    number.base = needed.turn * consumer.before.base + needed.base - producer.before.base;
    if (!may_meet(consumer, producer, number, needed.turn)) return;
    // Every turn and every q changes the difference by a multiple of `common`.
    const auto common = std::gcd(std::gcd(has_one_turn(producer) ? 0 : producer.each(),
                                          static_cast<std::int64_t>(number.turn)),
                                 static_cast<std::int64_t>(number.slope));
    for (std::int64_t j = 0; j < consumer.each() && !impossible_; ++j) {
      InTurn wanted = number;
      wanted.base += needed.turn * j;
      Wide i = wanted.base;  // the first position, from 0 on, that may match
      if (common > 0) i -= floor_of(i, common) * common;
      for (; i >= 0 && i < producer.each(); i += common) {
        if (++pairs_ > kMostPairs) {
          impossible_ = true;
          break;
        }
        InTurn difference = wanted;
        difference.base -= i;
        add(WaitKind::need, producer.positions[static_cast<std::size_t>(i)],
            consumer.positions[static_cast<std::size_t>(j)],
            from_need(producer, consumer, difference));
        if (common == 0) break;
      }
    }
  }

  bool has_one_turn(const LaneInRun& part) const {
    return at(order_.runs, part.run).turns == InQ{0, 1};
  }

  // False if the producer's tasks in the run all precede, or all follow, the needed ones.
  bool may_meet(const LaneInRun& consumer, const LaneInRun& producer, const InTurn& number,
                Wide per_task) const {
    const InQ& turns = at(order_.runs, consumer.run).turns;
    const InQ& produced = at(order_.runs, producer.run).turns;
    const Wide last_task = per_task * (consumer.each() - 1);
    // Compares the least and the greatest needed number with the number of the producer's tasks.
    const auto least =
        where_not_negative(order_.range, producer.each() * Wide{produced.slope} - number.slope,
                           producer.each() * Wide{produced.base} - 1 - number.base);
    if (!least) return false;
    return where_not_negative(*least, number.slope + number.turn * turns.slope,
                              number.base + last_task + number.turn * (turns.base - 1))
        .has_value();
  }

  // Solves producer.each * u = difference.turn * t + difference.slope * q + difference.base.
  Weight from_need(const LaneInRun& producer, const LaneInRun& consumer,
                   const InTurn& difference) const {
    const InQ& turns = at(order_.runs, consumer.run).turns;
    const InQ& produced = at(order_.runs, producer.run).turns;
    const Wide each = producer.each();
    const LinearBound none{0, 0, 1};
    const LinearBound all{turns.slope, Wide{turns.base} - 1, 1};
    // The bounds of t from those of u: 0 <= u and u <= produced - 1.
    const LinearBound begun{-difference.slope, -difference.base, difference.turn};
    const LinearBound ended{each * produced.slope - difference.slope,
                            each * (produced.base - 1) - difference.base, difference.turn};
    std::array<LinearBound, 2> lower = {none, begun};
    std::array<LinearBound, 2> upper = {all, ended};
    std::optional<QRange> range = order_.range;
    if (difference.turn == 0) {  // every turn needs the same task
      range = where_not_negative(*range, -begun.slope, -begun.base);
      if (range) range = where_not_negative(*range, ended.slope, ended.base);
      lower[1] = none;
      upper[1] = all;
    }
    for (const LinearBound& low : lower) {
      for (const LinearBound& high : upper) {
        if (!range) return {};
        range = where_not_negative(*range, high.slope * low.divisor - low.slope * high.divisor,
                                   high.base * low.divisor - low.base * high.divisor);
      }
    }
    if (!range) return {};
    return past(producer, consumer, difference, *range, lower, upper);
  }

  // The greatest lead of the producer's time over the consumer's if all bases are 0. `each` times
  // the lead is affine in t and q; at each q it is greatest at an end of the interval of t.
  Weight past(const LaneInRun& producer, const LaneInRun& consumer, const InTurn& difference,
              const QRange& range, const std::array<LinearBound, 2>& lower,
              const std::array<LinearBound, 2>& upper) const {
    const Pace& made = at(paces_, producer.run);
    const Pace& used = at(paces_, consumer.run);
    const Wide each = producer.each();
    const Wide turn = made.turn * difference.turn - used.turn * each;
    const Wide slope = made.turn * difference.slope + (made.slope - used.slope) * each;
    const Wide base = made.turn * difference.base;
    std::optional<Wide> least;
    for (const LinearBound& end : turn > 0 ? upper : lower) {
      const auto ahead =
          most(range, turn * end.slope + slope * end.divisor, turn * end.base + base * end.divisor);
      if (!ahead) continue;
      const Wide past_it = floor_of(*ahead, each * end.divisor) + 1;
      if (!least || past_it < *least) least = past_it;
    }
    return {true, least};
  }

  const Program& program_;
  const AffineOrder& order_;
  std::vector<Pace> paces_;  // per run
  std::vector<TimeEdge> edges_;
  std::int64_t pairs_ = 0;
  bool impossible_ = false;
};

// Sorts positions so that most edges lead forward. Edges that lead back by about a turn are
// ignored, and positions on a cycle are last.
std::vector<int> sorted(std::size_t positions, const std::vector<std::vector<std::size_t>>& out,
                        const std::vector<TimeEdge>& edges) {
  const auto counts = [](const TimeEdge& edge) { return edge.weight > -kTimeOfStep / 2; };
  std::vector<int> open(positions, 0);
  for (const TimeEdge& edge : edges) at(open, edge.after) += counts(edge) ? 1 : 0;
  std::vector<int> order;
  std::vector<bool> listed(positions, false);
  const auto list = [&](int position) {
    order.push_back(position);
    listed[static_cast<std::size_t>(position)] = true;
  };
  for (int position = 0; position < static_cast<int>(positions); ++position) {
    if (at(open, position) == 0) list(position);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const std::size_t e : at(out, order[i])) {
      if (counts(edges[e]) && --at(open, edges[e].after) == 0) list(edges[e].after);
    }
  }
  for (int position = 0; position < static_cast<int>(positions); ++position) {
    if (!listed[static_cast<std::size_t>(position)]) list(position);
  }
  return order;
}

}  // namespace

std::optional<InTurn> last_needed(const Program& program, const AffineOrder& order,
                                  const spec::Edge& edge) {
  if (program.crosses_shares(edge) || !tasks_in_q(program, order, edge.producer)) {
    return std::nullopt;
  }
  // The number of the last needed task is linear in the task and q, so three values determine it.
  const auto last = [&](int task, std::int64_t q) {
    const InQ& m = order.microbatches;
    return program.needed(edge, task, static_cast<int>(m.slope * q + m.base)).last - 1;
  };
  const std::int64_t at_one = last(1, 0);
  const std::int64_t turn = last(2, 0) - at_one;
  const std::int64_t slope = last(1, 1) - at_one;
  return InTurn{turn, slope, at_one - turn};
}

std::optional<Waits> waits_of(const Program& program, const AffineOrder& order) {
  auto paces = paces_of(program, order);
  if (!paces) return std::nullopt;
  auto edges = Edges(program, order, *paces).all();
  if (!edges) return std::nullopt;
  return Waits{std::move(*paces), std::move(*edges)};
}

std::optional<std::vector<std::int64_t>> bases_for(std::size_t positions,
                                                   const std::vector<TimeEdge>& edges) {
  std::vector<std::vector<std::size_t>> out(positions);
  for (std::size_t e = 0; e < edges.size(); ++e) at(out, edges[e].before).push_back(e);
  const std::vector<int> order = sorted(positions, out, edges);
  std::vector<std::int64_t> base(positions, 0);
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool all_hold = true;
    for (const int position : order) {
      spec::stop_point();
      for (const std::size_t e : at(out, position)) {
        const std::int64_t least = at(base, position) + edges[e].weight;
        if (at(base, edges[e].after) >= least) continue;
        if (least > kMostTime) return std::nullopt;
        at(base, edges[e].after) = least;
        all_hold = false;
      }
    }
    if (all_hold) return base;
  }
  return std::nullopt;
}

}  // namespace ripeline::verify
