// Orders that are equally good without jitter, under jitter: how much they differ, and how much
// faster than their average the one is that `ripeline optimise --jitter` improves on drawn times.
//
// All hold no more than the memory allows and are committed to. The equals are those that list
// rules make, at most so many; all orders meet the same draws, in which the improvement had no
// part. Every order is run by the simulator. What fails ends the program by std::runtime_error.
// One thread.
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
    double spread = 0;  // how much longer the slowest of the equals takes than the fastest
    simulate::Gain over_average;  // of the improved order, as the next one
    simulate::Gain over_first;    // over the order that is found first without jitter
  };
  double wall = 0;  // of each without jitter
  int found = 0;    // equals in all
  int compared = 0;
  std::vector<Under> under;
};
// Each improvement for searching.seconds.
[[nodiscard]] Equals compare_equals(const EqualsAsked& asked, const Searching& searching);

void print(const EqualsAsked& asked, const Equals& equals);
[[nodiscard]] nlohmann::json json_of(const EqualsAsked& asked, const Equals& equals);

}  // namespace ripeline::bench
