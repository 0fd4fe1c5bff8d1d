// Orders that are equally good without jitter, run under jitter: how much they differ, and how much
// faster than their average an order is that was improved on drawn times, as `ripeline optimise
// --jitter` does it.
//
// All hold no more than the memory allows and are committed to. The equals are those that list
// rules make, at most so many. All orders meet the same draws, in which the improvement had no
// part. Intervals are of the seeds that measure; there is one improvement, which a clock ends, and
// another run's is another one. Every order is run by the simulator. A failure ends the program by
// std::runtime_error. One thread.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/optimisers/lines.h"
#include "optimise/racing/gain.h"

namespace ripeline::bench {

struct EqualsAsked {
  EvenCosts costs;
  int memory = 1;  // activations
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
  double wall = 0;  // each equal order's, without jitter
  int found = 0;    // equals in all
  int compared = 0;
  std::vector<Under> under;
};
// Each improvement for searching.seconds.
[[nodiscard]] Equals compare_equals(const EqualsAsked& asked, const Searching& searching);

void print(const EqualsAsked& asked, const Equals& equals);
[[nodiscard]] nlohmann::json json_of(const EqualsAsked& asked, const Equals& equals);

}  // namespace ripeline::bench
