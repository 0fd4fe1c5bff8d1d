// A committed order as places whose counts are affine: in the turns that are over of a run, and in
// q, which the microbatches are affine in (periods.h).
//
// A rank that stands at a place is in the turn `t` of its run, 0 <= t < turns(q), before one of the
// run's steps; its next task is its lane's task of the number each * t + before(q) + j. All that is
// asked about an order is a bound of something affine over such t and q, which has its extremes at
// the corners: so no solver is needed. Numbers that might overflow are left to one (too_large).
// Values; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spec/program.h"
#include "verify/order/periods.h"

namespace ripeline::verify {

__extension__ using Wide = __int128;  // products of several numbers of an order

// turn * t + slope * q + base.
struct InTurn {
  Wide turn = 0;
  Wide slope = 0;
  Wide base = 0;
};

// Values of q; there are some.
struct QRange {
  std::int64_t first = 0;
  std::optional<std::int64_t> last = {};
};
// Those in the range with slope * q + base >= 0; nothing: there are none.
[[nodiscard]] std::optional<QRange> where_not_negative(const QRange& range, Wide slope, Wide base);
// The most that slope * q + base is in the range; nothing: it has no upper bound.
[[nodiscard]] std::optional<Wide> most(const QRange& range, Wide slope, Wide base);

// Lanes that a rank repeats. Each step of a run is a place.
struct AffineRun {
  int rank = 0;
  InQ turns;
  int first_place = 0;
  int steps = 0;  // above 0
};

// The tasks of a lane that a run has: numbers each * t + before + j, at the place places[j].
struct LaneInRun {
  int run = 0;
  InQ before;
  std::vector<int> places;
  [[nodiscard]] std::int64_t each() const { return static_cast<std::int64_t>(places.size()); }
};

struct AffineOrder {
  QRange range;  // values of q for which all this holds
  InQ microbatches;
  std::vector<AffineRun> runs{};                  // rank by rank, as they come
  std::vector<int> lanes{};                       // per place
  std::vector<std::vector<LaneInRun>> of_lane{};  // per lane, as its rank's runs come
  bool too_large = false;                         // then nothing else may be used
};

// The order for the counts of one remainder, with q in this range, which is not below order.first.
[[nodiscard]] AffineOrder affine_order(const spec::Program& program, const PeriodicOrder& order,
                                       InQ microbatches, const QRange& range);

// The most that something at a place of the run is, over all turns and q; `reached`: false if no
// rank ever stands there.
struct Extreme {
  bool reached = false;
  std::optional<Wide> most;  // nothing: it has no upper bound
};
[[nodiscard]] Extreme extreme(const AffineOrder& order, const AffineRun& run, const InTurn& value);

// How many tasks the lane has, if that is affine in q.
[[nodiscard]] std::optional<InQ> tasks_in_q(const spec::Program& program, const AffineOrder& order,
                                            int lane);
// Each rank's order has each task exactly once.
[[nodiscard]] bool has_each_once(const spec::Program& program, const AffineOrder& order);

// The amounts that pools hold under the order, a rank running one task at a time: they depend on
// where the rank stands and on nothing else.
struct AffinePeaks {
  bool room = true;                                 // at each place, for all that its task acquires
  bool asserted = true;                             // no bound is exceeded
  std::vector<std::optional<std::int64_t>> most{};  // per pool; nothing: it grows with q
};
// `bounds`: per pool those that must hold, of what is held just after a start.
[[nodiscard]] AffinePeaks affine_peaks(const spec::Program& program, const AffineOrder& order,
                                       const std::vector<std::vector<InQ>>& bounds);

}  // namespace ripeline::verify
