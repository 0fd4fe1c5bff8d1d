// Mistakes that an encoder of the judge could make. They are inserted into the queries that the
// judge asks, while Machine keeps the right program, so that a comparison must find a difference.
#pragma once

#include <functional>

#include "spec/program.h"
#include "verify/order/repeats.h"
#include "verify/ready/classes.h"
#include "verify/ready/counters.h"
#include "verify/verify.h"

namespace ripeline::testing_support {

// A change to the queries at one place; members that are empty change nothing.
struct Mistake {
  std::function<void(spec::Program&)> program = {};
  std::function<void(const spec::Program&, verify::Counters&)> counters = {};
  std::function<void(verify::ByClasses&)> classes = {};
  bool divides = true;                               // if false, lanes are not divided by classes
  std::function<void(verify::Repeat&)> repeat = {};  // changes the repeat of a committed order
  bool trusts_order = false;  // a kept order, whose room is reserved, counts as proved
  bool covers_all = false;    // … and its proof counts even for programs that it does not cover
};

namespace mistakes {
// Guards and effects.
// At its end a task returns to a pool the amount that it acquired, instead of what it releases.
[[nodiscard]] Mistake swapped_release();
[[nodiscard]] Mistake missing_release();              // nothing is ever released
[[nodiscard]] Mistake capacities(std::int64_t more);  // capacities are larger by `more`
[[nodiscard]] Mistake dropped_room();                 // capacities are ignored
[[nodiscard]] Mistake dropped_need();                 // the last need of each lane is ignored
[[nodiscard]] Mistake reversed_need();                // … has producer and consumer swapped
[[nodiscard]] Mistake ignored_leaving();              // `leaving` is 0
[[nodiscard]] Mistake amounts_of_one();               // every amount is 1
[[nodiscard]] Mistake slots(std::int64_t more);
[[nodiscard]] Mistake slots_forgotten();          // slots are not limited
[[nodiscard]] Mistake overtaking_forgotten();     // messages over slots count as arriving in order
[[nodiscard]] Mistake range_from_one();           // the program's fewest microbatches are ignored
[[nodiscard]] Mistake bounds(std::int64_t more);  // added to the bounds of `assert peak`
// Counters.
[[nodiscard]] Mistake taken_for_exact();     // a necessary condition of a start is taken to suffice
[[nodiscard]] Mistake assumed_room();        // the invariant claims a free unit that may be in use
[[nodiscard]] Mistake reserve_forgotten();   // the invariant states only the capacity of each pool
[[nodiscard]] Mistake assumed_reserve();     // … claims that one unit too many is left free
[[nodiscard]] Mistake classes_forgotten();   // lanes are counted without their classes
[[nodiscard]] Mistake free_class();          // lanes of the last class take no room
[[nodiscard]] Mistake one_lane_forgotten();  // no query asks whether the last lane can start
// Orders.
[[nodiscard]] Mistake place_forgotten();  // each repeat lacks its last task
[[nodiscard]] Mistake counts_ahead();     // each task counts as run when it is next
}  // namespace mistakes

// The verdict of verify() on the queries with the mistake; the program must have no groups.
[[nodiscard]] verify::Verdict judged_with(const Mistake& mistake, const spec::Program& program,
                                          const verify::VerifyOptions& options);

}  // namespace ripeline::testing_support
