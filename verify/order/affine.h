// A committed order as positions. The counts at a position are affine in the completed turns of a
// run and in q; the number of microbatches is an affine function of q (periods.h).
//
// A rank at a position is in turn `t` of its run, 0 <= t < turns(q), before one of the run's steps;
// its next task is the lane's task number each * t + before(q) + j. Every question about an order
// asks for a bound of an affine value over such t and q. The extremes are at the corners, so no
// solver is needed. If numbers might overflow, a solver is asked instead (too_large). Values;
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spec/program.h"
#include "verify/order/periods.h"

namespace ripeline::verify {

__extension__ using Wide = __int128;  // products of several numbers of an order

// The value turn * t + slope * q + base.
struct InTurn {
  Wide turn = 0;
  Wide slope = 0;
  Wide base = 0;
};

// A range of values of q, never empty; `last` is nullopt if the range has no end.
struct QRange {
  std::int64_t first = 0;
  std::optional<std::int64_t> last = {};
};
// The values in the range with slope * q + base >= 0; nullopt if there are none.
[[nodiscard]] std::optional<QRange> where_not_negative(const QRange& range, Wide slope, Wide base);
// The greatest value of slope * q + base in the range; nullopt if there is no upper bound.
[[nodiscard]] std::optional<Wide> most(const QRange& range, Wide slope, Wide base);

// Lanes that a rank repeats. Each step of the run is a position.
struct AffineRun {
  int rank = 0;
  InQ turns;
  int first_position = 0;
  int steps = 0;  // above 0
};

// A lane's tasks in a run: at positions[j], in turn t, the task has the number each * t + before +
// j.
struct LaneInRun {
  int run = 0;
  InQ before;
  std::vector<int> positions;
  [[nodiscard]] std::int64_t each() const { return static_cast<std::int64_t>(positions.size()); }
};

struct AffineOrder {
  QRange range;  // values of q for which the members below hold
  InQ microbatches;
  std::vector<AffineRun> runs{};                  // rank by rank, in the order in which they run
  std::vector<int> lanes{};                       // per position
  std::vector<std::vector<LaneInRun>> of_lane{};  // per lane, in the order of its rank's runs
  bool too_large = false;                         // if true, nothing else may be used
};

// The order for the counts of one remainder; `range` of q must not begin below order.first.
[[nodiscard]] AffineOrder affine_order(const spec::Program& program, const PeriodicOrder& order,
                                       InQ microbatches, const QRange& range);

// The greatest value at a position of the run, over all turns and q; `reached` is false if no rank
// is ever at this position.
struct Extreme {
  bool reached = false;
  std::optional<Wide> most;  // nullopt if there is no upper bound
};
[[nodiscard]] Extreme extreme(const AffineOrder& order, const AffineRun& run, const InTurn& value);

// The number of the lane's tasks as a function of q, if it is affine.
[[nodiscard]] std::optional<InQ> tasks_in_q(const spec::Program& program, const AffineOrder& order,
                                            int lane);
// True if each rank's order lists each task exactly once.
[[nodiscard]] bool has_each_once(const spec::Program& program, const AffineOrder& order);

// The amounts that pools hold under the order, if a rank runs one task at a time; they depend only
// on the rank's position.
struct AffinePeaks {
  bool room = true;                                 // at each position there is room for the task
  bool asserted = true;                             // no asserted bound is exceeded
  std::vector<std::optional<std::int64_t>> most{};  // per pool; nullopt if it grows with q
};
// `bounds` has for each pool the bounds of the amount held just after a start.
[[nodiscard]] AffinePeaks affine_peaks(const spec::Program& program, const AffineOrder& order,
                                       const std::vector<std::vector<InQ>>& bounds);

}  // namespace ripeline::verify
