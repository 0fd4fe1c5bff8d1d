// Runs orders that are equally good without jitter (the equals) under jitter. Measures how much
// their times then differ, and how much faster than their average an order is that was improved for
// drawn times, as by `ripeline optimise --jitter`.
//
// A program commits to each order, and no order holds more than the memory allows. List rules make
// the equals, and some of the equals are compared. All orders are measured under the same draws;
// the improvement used other draws. Intervals cover the seeds of the measurement, not those of the
// improvement, whose result may differ from run to run since its time is limited. The simulator
// runs every order. A failure ends the program by std::runtime_error. One thread.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/optimisers/method_results.h"
#include "optimise/racing/gain.h"

namespace ripeline::bench {

struct EqualsAsked {
  EvenCosts costs;
  int memory = 1;  // in activations
  std::vector<std::string> jitters;
  int equals = 50;
  int seeds = 50;
};
[[nodiscard]] std::vector<EqualsAsked> equals_to_compare();

struct Equals {
  struct Under {
    std::string jitter;
    optimise::Gain spread;        // the fastest equal order over the slowest
    optimise::Gain over_average;  // the improved order over the equals' average
    optimise::Gain over_first;    // the improved order over the first one found without jitter
  };
  double makespan = 0;  // the makespan of each equal without jitter
  int found = 0;        // the number of equals
  int compared = 0;
  std::vector<Under> under;
};
// The search takes searching.seconds, and so does each improvement.
[[nodiscard]] Equals compare_equals(const EqualsAsked& asked, const Searching& searching);

void print(const EqualsAsked& asked, const Equals& equals);
[[nodiscard]] nlohmann::json json_of(const EqualsAsked& asked, const Equals& equals);

}  // namespace ripeline::bench
