// Affine orders: the counts of periodic runs, and extremes at the corners of a run.
#include "verify/order/affine.h"

#include <algorithm>
#include <limits>

#include "spec/guards.h"
#include "spec/indexing.h"
#include "spec/long_work.h"

namespace ripeline::verify {

using spec::Program;

namespace {

// With counts below these limits all products fit into 128 bits (times.cpp).
constexpr std::int64_t kMostTurns = std::int64_t{1} << 24;
constexpr std::int64_t kMostCount = std::int64_t{1} << 36;
constexpr std::int64_t kMostWrittenOut = 4096;  // steps of a run
// A microbatch count is an int, so no q is above it.
constexpr std::int64_t kMostQ = std::numeric_limits<int>::max();

bool within(const InQ& value, std::int64_t most) {
  return std::abs(value.slope) <= most && std::abs(value.base) <= most;
}

Wide floor_of(Wide a, Wide b) {  // b > 0
  return a / b - (a % b < 0 ? 1 : 0);
}

// Writes out a run whose number of turns is small and the same for every q: each step of each turn
// becomes a position of its own, and any time may pass between turns.
PeriodicRun in_one_turn(const PeriodicRun& run) {
  const std::int64_t steps = run.count.base * size_of(run.lanes);
  if (run.count.slope != 0 || run.count.base < 1 || steps > kMostWrittenOut) return run;
  PeriodicRun written{{}, {0, 1}};
  for (std::int64_t turn = 0; turn < run.count.base; ++turn) {
    written.lanes.insert(written.lanes.end(), run.lanes.begin(), run.lanes.end());
  }
  return written;
}

void add(InQ& sum, std::int64_t factor, const InQ& value) {
  sum.slope += factor * value.slope;
  sum.base += factor * value.base;
}

}  // namespace

std::optional<QRange> where_not_negative(const QRange& range, Wide slope, Wide base) {
  QRange found = range;
  if (slope == 0) return base >= 0 ? std::optional(found) : std::nullopt;
  if (slope > 0) {
    const Wide first = -floor_of(base, slope);  // the ceiling of -base / slope
    if (first > kMostQ) return std::nullopt;
    found.first = std::max(found.first, static_cast<std::int64_t>(std::max<Wide>(first, 0)));
  } else {
    const Wide last = floor_of(base, -slope);
    if (last < 0) return std::nullopt;
    const auto kept = static_cast<std::int64_t>(std::min<Wide>(last, kMostQ));
    found.last = std::min(found.last.value_or(kept), kept);
  }
  if (found.last && *found.last < found.first) return std::nullopt;
  return found;
}

std::optional<Wide> most(const QRange& range, Wide slope, Wide base) {
  if (slope <= 0) return slope * range.first + base;
  if (!range.last) return std::nullopt;
  return slope * *range.last + base;
}

AffineOrder affine_order(const Program& program, const PeriodicOrder& order, InQ microbatches,
                         const QRange& range) {
  AffineOrder affine{.range = range, .microbatches = microbatches};
  affine.of_lane.resize(program.lanes.size());
  for (int rank = 0; rank < program.ranks; ++rank) {
    std::vector<InQ> before(program.lanes.size());
    for (const PeriodicRun& written : at(order.ranks, rank)) {
      if (written.lanes.empty()) continue;
      affine.too_large = affine.too_large || !within(written.count, kMostTurns);
      if (affine.too_large) return affine;
      const PeriodicRun run = in_one_turn(written);
      const int number = size_of(affine.runs);
      affine.runs.push_back({rank, run.count, size_of(affine.lanes), size_of(run.lanes)});
      for (const int lane : run.lanes) {
        std::vector<LaneInRun>& own = at(affine.of_lane, lane);
        if (own.empty() || own.back().run != number) own.push_back({number, at(before, lane), {}});
        own.back().positions.push_back(size_of(affine.lanes));
        affine.lanes.push_back(lane);
      }
      for (const int lane : run.lanes) {
        add(at(before, lane), 1, run.count);
        affine.too_large = affine.too_large || !within(at(before, lane), kMostCount);
      }
      if (affine.too_large) return affine;
    }
  }
  return affine;
}

// If the run has turns, they are 0 to turns - 1; for each q the extremes are at the first or last.
Extreme extreme(const AffineOrder& order, const AffineRun& run, const InTurn& value) {
  const auto some = where_not_negative(order.range, run.turns.slope, Wide{run.turns.base} - 1);
  if (!some) return {};
  Wide slope = value.slope;
  Wide base = value.base;
  if (value.turn > 0) {
    slope += value.turn * run.turns.slope;
    base += value.turn * (run.turns.base - 1);
  }
  return {true, most(*some, slope, base)};
}

std::optional<InQ> tasks_in_q(const Program& program, const AffineOrder& order, int lane) {
  const spec::Lane& l = at(program.lanes, lane);
  if (!l.once && order.microbatches.slope % l.share.period != 0) return std::nullopt;
  // The number grows by the same amount whenever q grows by 1, so two values determine it.
  const auto tasks = [&](std::int64_t turns) {
    return program.tasks_of(
        lane, static_cast<int>(order.microbatches.slope * turns + order.microbatches.base));
  };
  const std::int64_t none = tasks(0);
  return InQ{tasks(1) - none, none};
}

bool has_each_once(const Program& program, const AffineOrder& order) {
  for (const AffineRun& run : order.runs) {
    const auto fewest = most(order.range, -Wide{run.turns.slope}, -Wide{run.turns.base});
    if (!fewest || *fewest > 0) return false;  // a count below 0
  }
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    InQ listed;
    for (const LaneInRun& part : at(order.of_lane, lane)) {
      add(listed, part.each(), at(order.runs, part.run).turns);
    }
    const auto tasks = tasks_in_q(program, order, lane);
    if (!tasks || !(listed == *tasks)) return false;
  }
  return true;
}

namespace {

// Follows ranks through their orders, with the amounts that their pools hold at each position.
class PeaksOfRank {
 public:
  PeaksOfRank(const Program& program, const AffineOrder& order,
              const std::vector<std::vector<InQ>>& bounds, AffinePeaks& peaks)
      : program_(program),
        order_(order),
        bounds_(bounds),
        peaks_(peaks),
        guards_(spec::guards_of(program)),
        held_(program.pools.size()) {}

  void follow(const AffineRun& run) {
    spec::stop_point();
    std::vector<Wide> in_turn(program_.pools.size(), 0);
    std::vector<int> touched;
    for (int step = 0; step < run.steps; ++step) {
      for (const spec::Use& use : spec::uses_of(lane_at(run, step))) {
        at(in_turn, use.pool) += use.acquires - use.releases;
        touched.push_back(use.pool);
      }
    }
    std::vector<Wide> so_far(program_.pools.size(), 0);
    for (int step = 0; step < run.steps; ++step) {
      const int lane = at(order_.lanes, run.first_position + step);
      for (const spec::Acquire& a : at(program_.lanes, lane).acquires) {
        InTurn held = at(held_, a.pool);
        held.turn = at(in_turn, a.pool);
        held.base += at(so_far, a.pool);
        look_at(run, lane, a, held);
      }
      for (const spec::Use& use : spec::uses_of(at(program_.lanes, lane))) {
        at(so_far, use.pool) += use.acquires - use.releases;
      }
    }
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    for (const int pool : touched) {
      at(held_, pool).slope += at(in_turn, pool) * run.turns.slope;
      at(held_, pool).base += at(in_turn, pool) * run.turns.base;
    }
  }

 private:
  const spec::Lane& lane_at(const AffineRun& run, int step) const {
    return at(program_.lanes, at(order_.lanes, run.first_position + step));
  }

  void look_at(const AffineRun& run, int lane, const spec::Acquire& acquire, const InTurn& held) {
    const Extreme before = extreme(order_, run, held);
    if (!before.reached) return;
    const auto room = room_in(at(guards_, lane), acquire.pool);
    if (room && (!before.most || *before.most > room->most_held())) peaks_.room = false;
    for (const InQ& bound : at(bounds_, acquire.pool)) {
      const Extreme over =
          extreme(order_, run,
                  {held.turn, held.slope - bound.slope, held.base + acquire.amount - bound.base});
      if (!over.most || *over.most > 0) peaks_.asserted = false;
    }
    auto& most = at(peaks_.most, acquire.pool);
    constexpr std::int64_t kMostHeld = std::numeric_limits<std::int64_t>::max();
    if (!before.most || *before.most + acquire.amount > kMostHeld) most = std::nullopt;
    if (most) most = std::max(*most, static_cast<std::int64_t>(*before.most + acquire.amount));
  }

  const Program& program_;
  const AffineOrder& order_;
  const std::vector<std::vector<InQ>>& bounds_;
  AffinePeaks& peaks_;
  std::vector<spec::Guards> guards_;  // per lane
  std::vector<InTurn> held_;          // per pool, where the next run begins; `turn` is unused
};

}  // namespace

AffinePeaks affine_peaks(const Program& program, const AffineOrder& order,
                         const std::vector<std::vector<InQ>>& bounds) {
  AffinePeaks peaks;
  peaks.most.assign(program.pools.size(), 0);
  PeaksOfRank ranks(program, order, bounds, peaks);
  for (const AffineRun& run : order.runs) ranks.follow(run);
  return peaks;
}

}  // namespace ripeline::verify
