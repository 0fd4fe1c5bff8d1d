// Times: the weights of pairs of places, and a search for bases.
//
// Take a place of a task and a place of a task that it needs: they meet at those turns t and u and
// those q at which the number of the second task is the one that the first needs. That is one
// equation in t, u and q; it gives u, and leaves a bound of an affine value over an interval of t
// that depends on q. The bound is taken over all real t and u, which include all turns.
#include "verify/order/times.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "spec/indexing.h"

namespace ripeline::verify {

using spec::Program;

namespace {

// The time of a step, longer than any chain of waits within a turn may be: later turns are later.
constexpr std::int64_t kTimeOfStep = std::int64_t{1} << 20;
// With these limits and the counts of affine.cpp no product needs more than 126 bits.
constexpr std::int64_t kMostTimeOfTurn = std::int64_t{1} << 38;
constexpr std::int64_t kMostWeight = std::int64_t{1} << 45;
constexpr std::int64_t kMostTime = std::int64_t{1} << 60;
constexpr int kMostSweeps = 64;
// The most pairs of places looked at for one remainder; with more, a solver is asked.
constexpr std::int64_t kMostPairs = 20'000'000;

Wide floor_of(Wide a, Wide b) {  // b > 0
  return a / b - (a % b < 0 ? 1 : 0);
}

// Each rank goes through its order at a pace of its own, such that all come to the end together.
// Any pace is sound; with this one, tasks that exchange messages stay equally far apart in time.
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

// The least number by which `after` must exceed `before`; `meets` is false if the two never meet.
struct Weight {
  bool meets = false;
  std::optional<Wide> least;  // nothing: no weight suffices
};

// The bound (slope * q + base) / divisor of t.
struct Line {
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
    const int last = run.first_place + run.steps - 1;
    for (int place = run.first_place; place < last; ++place) {
      add(WaitKind::step, place, place + 1, {true, 1});
    }
    const bool again =
        where_not_negative(order_.range, run.turns.slope, Wide{run.turns.base} - 2).has_value();
    add(WaitKind::turn, last, run.first_place, {again, 1 - at(paces_, number).turn});
    // Edges to later runs that may have turns, up to the first that has at least one for every q.
    for (int next = number + 1; next < size_of(order_.runs); ++next) {
      const AffineRun& later = at(order_.runs, next);
      if (later.rank != run.rank) break;
      add(WaitKind::run, last, later.first_place, from_run_to(number, next));
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

  // Adds edges for the consumer's tasks each * t + before + j, from the producer's tasks they need.
  void add_needs(const LaneInRun& consumer, const LaneInRun& producer, const InTurn& needed) {
    InTurn number;  // the number that the task at places[0] needs, less the producer's before
    number.turn = has_one_turn(consumer) ? 0 : needed.turn * consumer.each();
    number.slope = needed.turn * consumer.before.slope + needed.slope - producer.before.slope;
    number.base = needed.turn * consumer.before.base + needed.base - producer.before.base;
    if (!may_meet(consumer, producer, number, needed.turn)) return;
    // All turns and all q change the difference by a multiple of this number.
    const auto common = std::gcd(std::gcd(has_one_turn(producer) ? 0 : producer.each(),
                                          static_cast<std::int64_t>(number.turn)),
                                 static_cast<std::int64_t>(number.slope));
    for (std::int64_t j = 0; j < consumer.each() && !impossible_; ++j) {
      InTurn wanted = number;
      wanted.base += needed.turn * j;
      Wide i = wanted.base;  // the first place, from 0 on, that may match
      if (common > 0) i -= floor_of(i, common) * common;
      for (; i >= 0 && i < producer.each(); i += common) {
        if (++pairs_ > kMostPairs) {
          impossible_ = true;
          break;
        }
        InTurn difference = wanted;
        difference.base -= i;
        add(WaitKind::need, producer.places[static_cast<std::size_t>(i)],
            consumer.places[static_cast<std::size_t>(j)],
            from_need(producer, consumer, difference));
        if (common == 0) break;
      }
    }
  }

  bool has_one_turn(const LaneInRun& part) const {
    return at(order_.runs, part.run).turns == InQ{0, 1};
  }

  // False if the producer's tasks in the run all come before, or all after, those that are needed.
  bool may_meet(const LaneInRun& consumer, const LaneInRun& producer, const InTurn& number,
                Wide per_task) const {
    const InQ& turns = at(order_.runs, consumer.run).turns;
    const InQ& produced = at(order_.runs, producer.run).turns;
    const Wide last_task = per_task * (consumer.each() - 1);
    // The least and the greatest number needed, against the number of the producer's tasks.
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
    const Line none{0, 0, 1};
    const Line all{turns.slope, Wide{turns.base} - 1, 1};
    // The bounds of t from those of u: 0 <= u and u <= produced - 1.
    const Line begun{-difference.slope, -difference.base, difference.turn};
    const Line ended{each * produced.slope - difference.slope,
                     each * (produced.base - 1) - difference.base, difference.turn};
    std::array<Line, 2> lower = {none, begun};
    std::array<Line, 2> upper = {all, ended};
    std::optional<QRange> range = order_.range;
    if (difference.turn == 0) {  // the same task is needed in every turn
      range = where_not_negative(*range, -begun.slope, -begun.base);
      if (range) range = where_not_negative(*range, ended.slope, ended.base);
      lower[1] = none;
      upper[1] = all;
    }
    for (const Line& low : lower) {
      for (const Line& high : upper) {
        if (!range) return {};
        range = where_not_negative(*range, high.slope * low.divisor - low.slope * high.divisor,
                                   high.base * low.divisor - low.base * high.divisor);
      }
    }
    if (!range) return {};
    return past(producer, consumer, difference, *range, lower, upper);
  }

  // The weight from how far the producer's time is ahead of the consumer's, bases aside, `each`
  // times: it is affine in t and q. At each q it is greatest at an end of the interval of t.
  Weight past(const LaneInRun& producer, const LaneInRun& consumer, const InTurn& difference,
              const QRange& range, const std::array<Line, 2>& lower,
              const std::array<Line, 2>& upper) const {
    const Pace& made = at(paces_, producer.run);
    const Pace& used = at(paces_, consumer.run);
    const Wide each = producer.each();
    const Wide turn = made.turn * difference.turn - used.turn * each;
    const Wide slope = made.turn * difference.slope + (made.slope - used.slope) * each;
    const Wide base = made.turn * difference.base;
    std::optional<Wide> least;
    for (const Line& end : turn > 0 ? upper : lower) {
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

// Sorts places so that most edges lead forward: edges that go back about a turn are ignored, and
// places on a cycle come last.
std::vector<int> sorted(std::size_t places, const std::vector<std::vector<std::size_t>>& out,
                        const std::vector<TimeEdge>& edges) {
  const auto counts = [](const TimeEdge& edge) { return edge.weight > -kTimeOfStep / 2; };
  std::vector<int> open(places, 0);
  for (const TimeEdge& edge : edges) at(open, edge.after) += counts(edge) ? 1 : 0;
  std::vector<int> order;
  std::vector<bool> listed(places, false);
  const auto list = [&](int place) {
    order.push_back(place);
    listed[static_cast<std::size_t>(place)] = true;
  };
  for (int place = 0; place < static_cast<int>(places); ++place) {
    if (at(open, place) == 0) list(place);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const std::size_t e : at(out, order[i])) {
      if (counts(edges[e]) && --at(open, edges[e].after) == 0) list(edges[e].after);
    }
  }
  for (int place = 0; place < static_cast<int>(places); ++place) {
    if (!listed[static_cast<std::size_t>(place)]) list(place);
  }
  return order;
}

}  // namespace

std::optional<InTurn> last_needed(const Program& program, const AffineOrder& order,
                                  const spec::Edge& edge) {
  if (program.crosses_shares(edge) || !tasks_in_q(program, order, edge.producer)) {
    return std::nullopt;
  }
  // The same task, the one before, or the last of all: linear, which three values determine.
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

std::optional<std::vector<std::int64_t>> bases_for(std::size_t places,
                                                   const std::vector<TimeEdge>& edges) {
  std::vector<std::vector<std::size_t>> out(places);
  for (std::size_t e = 0; e < edges.size(); ++e) at(out, edges[e].before).push_back(e);
  const std::vector<int> order = sorted(places, out, edges);
  std::vector<std::int64_t> base(places, 0);
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool all_hold = true;
    for (const int place : order) {
      for (const std::size_t e : at(out, place)) {
        const std::int64_t least = at(base, place) + edges[e].weight;
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
