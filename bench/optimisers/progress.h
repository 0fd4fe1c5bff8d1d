// A search against its seconds: the best and the bound after each of some times, with the solver
// and without it, and what each method that it tries has added. One thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/optimisers/lines.h"

namespace ripeline::bench {

// A model to search, with its memory and placements.
struct Row {
  EvenCosts costs;
  spec::Rational memory;
  Placements placements = Placements::chain;
};
[[nodiscard]] std::vector<Row> rows_against_seconds();

struct Progress {
  struct Mark {
    double seconds = 0;
    double best = 0;  // 0: none yet
    double bound = 0;
  };
  struct Step {
    std::string method;
    double seconds = 0;  // when it had added that
    double value = 0;
  };
  // The solver's model of the form that was the best in the end, where it gets all of the form.
  struct Size {
    int tasks = 0;
    std::size_t variables = 0;
    std::size_t constraints = 0;
  };

  std::vector<Mark> marks;
  std::vector<Step> steps;  // a method's last improvement before another one improved on it
  Size size;
  double work = 0;
  double allowed = 0;
  double held = 0;
  std::string placement;
  std::string without;  // why there was no solver, where one was asked for
};

// Searches until the last of `marks`, in seconds.
[[nodiscard]] Progress progress_of(const Row& row, const Searching& searching,
                                   const std::vector<double>& marks);

void print(const Row& row, const Progress& without_solver, const Progress& with_solver);
[[nodiscard]] nlohmann::json json_of(const Row& row, const Progress& progress, bool has_solver);

}  // namespace ripeline::bench
