// Races a found order, the same order improved on drawn times, and hints that follow either order.
// Makes the program for the race and the program to write. Not thread-safe.
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

// Estimates how many seconds a race of a certified order takes, from one run with drawn times.
[[nodiscard]] double seconds_of_race(const Certified& best, int microbatches,
                                     const simulate::TimingOptions& times, int seeds);

// The claim's certified order and, if it differs, the improved order.
struct OrderRace {
  std::vector<NamedOrder> orders;
  spec::Program program;  // has all these orders, and commits to the claim's
};
// Improves the order while `go_on` returns true. Fails if the text with all orders doesn't compile.
[[nodiscard]] spec::Result<OrderRace> order_race(const Claim& claim,
                                                 const simulate::TimingOptions& times,
                                                 const std::function<bool()>& go_on);

// The program with the dispatch that won the race; it is proved.
struct PickedDispatch {
  std::string text;
  std::string dispatch;
  bool in_order = false;  // whether it commits to an order
};
// `result` must be the result of race() with these times. `comments` are as for with_orders(); a
// line about the result is added after them. An error describes a defect in a sentence.
[[nodiscard]] spec::Result<PickedDispatch> picked_dispatch(
    const Claim& claim, const OrderRace& race, const RaceResult& result,
    const simulate::TimingOptions& times, const std::vector<std::string>& comments);

}  // namespace ripeline::optimise
