// A race of the order that a search found, one that was improved on drawn times, and hints that
// follow them: the program that races, and what is written in the end. One thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "optimise/certified.h"
#include "optimise/racing/race.h"
#include "optimise/written_order.h"
#include "simulate/timing.h"
#include "spec/diagnostics.h"
#include "spec/program.h"

namespace ripeline::optimise {

// The seconds that a race of a certified order takes, by one run with drawn times.
[[nodiscard]] double seconds_of_race(const Certified& best, int microbatches,
                                     const simulate::TimingOptions& times, int seeds);

// The claim's order, which was certified, and what it was improved to, if that is another.
struct OrderRace {
  std::vector<NamedOrder> orders;
  spec::Program program;  // has them all, and commits to the claim's
};
// Improves the order while `go_on` says so. Errors: the text with the orders does not compile.
[[nodiscard]] spec::Result<OrderRace> order_race(const Claim& claim,
                                                 const simulate::TimingOptions& times,
                                                 const std::function<bool()>& go_on);

// The program with the dispatch that was picked, which is proved.
struct PickedDispatch {
  std::string text;
  std::string dispatch;
  bool in_order = false;  // it commits to an order
};
// `result` is of race() with these times. `comments` as of with_orders(), and a line for the result
// follows them. Errors: a defect, in a sentence.
[[nodiscard]] spec::Result<PickedDispatch> picked_dispatch(
    const Claim& claim, const OrderRace& race, const RaceResult& result,
    const simulate::TimingOptions& times, const std::vector<std::string>& comments);

}  // namespace ripeline::optimise
