// Mistakes that an encoder of the judge could make, put into what the judge asks about while
// Machine keeps the program as it is: a test that finds no difference has tested nothing.
#pragma once

#include <functional>

#include "spec/program.h"
#include "verify/order/repeats.h"
#include "verify/ready/classes.h"
#include "verify/ready/counters.h"
#include "verify/verify.h"

namespace ripeline::testing_support {

// Each changes what is asked, at one place; what stands empty is as it should be.
struct Mistake {
  std::function<void(spec::Program&)> program = {};
  std::function<void(const spec::Program&, verify::Counters&)> counters = {};
  std::function<void(verify::ByClasses&)> classes = {};
  bool divides = true;                               // false: lanes are not counted class by class
  std::function<void(verify::Repeat&)> repeat = {};  // a committed order's
  bool trusts_order = false;  // an order that room is kept for is taken for proved
  bool covers_all = false;    // … and its proof for one of programs that it does not cover
};

namespace mistakes {
// Guards and effects.
// A pool gets back at the end of who acquired, not of who releases.
[[nodiscard]] Mistake swapped_release();
[[nodiscard]] Mistake missing_release();              // nothing is ever given back
[[nodiscard]] Mistake capacities(std::int64_t more);  // than there are
[[nodiscard]] Mistake dropped_room();                 // capacities are not looked at
[[nodiscard]] Mistake dropped_need();                 // the last need of each lane is not looked at
[[nodiscard]] Mistake reversed_need();                // … is taken the other way around
[[nodiscard]] Mistake ignored_leaving();              // `leaving` is 0
[[nodiscard]] Mistake amounts_of_one();               // every amount is 1
[[nodiscard]] Mistake slots(std::int64_t more);
[[nodiscard]] Mistake slots_forgotten();          // inboxes are not looked at
[[nodiscard]] Mistake overtaking_forgotten();     // messages of slots are taken to arrive in order
[[nodiscard]] Mistake range_from_one();           // the range of microbatches is not looked at
[[nodiscard]] Mistake bounds(std::int64_t more);  // added to those of `assert peak`
// Counters.
[[nodiscard]] Mistake taken_for_exact();     // a start's necessary condition is taken to suffice
[[nodiscard]] Mistake assumed_room();        // the invariant claims one unit that need not be free
[[nodiscard]] Mistake reserve_forgotten();   // the invariant says of each pool only its capacity
[[nodiscard]] Mistake assumed_reserve();     // … claims one unit too much that is left free
[[nodiscard]] Mistake classes_forgotten();   // lanes are counted as a whole
[[nodiscard]] Mistake free_class();          // lanes of the last class take no room
[[nodiscard]] Mistake one_lane_forgotten();  // the last lane is never asked whether it may start
// Orders.
[[nodiscard]] Mistake place_forgotten();  // the last place of each repeat is never stood at
[[nodiscard]] Mistake counts_ahead();     // a task counts as run when it is next
}  // namespace mistakes

// verify(), asking what the mistake makes of the program. Not of groups.
[[nodiscard]] verify::Verdict judged_with(const Mistake& mistake, const spec::Program& program,
                                          const verify::VerifyOptions& options);

}  // namespace ripeline::testing_support
