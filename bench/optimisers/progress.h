// Progress: the best order and the bound of a search after each of several times, and the last
// improvements by each method of the search. One thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/optimisers/method_results.h"

namespace ripeline::bench {

// A model to search, with its memory and placements.
struct Row {
  EvenCosts costs;
  spec::Rational memory;
  Placements placements = kChain;
};
[[nodiscard]] std::vector<Row> rows_against_seconds();

struct Progress {
  struct Mark {
    double seconds = 0;
    double best = 0;  // 0 if no order was found yet
    double bound = 0;
  };
  struct Step {
    std::string method;
    double seconds = 0;  // when the method found `value`
    double value = 0;
  };
  // The size of the solver's model for the best order's form, if the model is solved as a whole.
  struct Size {
    int tasks = 0;
    std::size_t variables = 0;
    std::size_t constraints = 0;
  };

  std::vector<Mark> marks;
  std::vector<Step> steps;  // only the last of successive improvements by one method
  Size size;
  double work = 0;
  double allowed = 0;
  double held = 0;
  std::string placement;
  std::string without;  // why there was no solver, if one was requested
};

// Searches until the last of `marks`, which are times in seconds since the search began.
[[nodiscard]] Progress progress_of(const Row& row, const Searching& searching,
                                   const std::vector<double>& marks);

void print(const Row& row, const Progress& without_solver, const Progress& with_solver);
[[nodiscard]] nlohmann::json json_of(const Row& row, const Progress& progress, bool has_solver);

}  // namespace ripeline::bench
