// Figures: the results of a run in numbers, namely its times and the amounts that each rank held.
//
// Amounts are counted as core/vocabulary/per_rank.h describes. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "view/timeline.h"

namespace ripeline::view {

// The numbers of one run, or the means of several runs; times are in the run's unit.
struct Figures {
  double makespan = 0;         // from the first start to the last end, of all ranks
  double span = 0;             // last end - first start, of the rank where it is longest
  double work = 0;             // the work of the busiest compute engine
  double span_bubble = 0;      // span - work
  double makespan_bubble = 0;  // makespan - work
  // The most that each rank held of a resource at once, in the program's amounts.
  struct Peak {
    std::string resource;
    std::string unit;  // from core::unit_of_amounts()
    std::vector<std::int64_t> per_rank;
    // `per_rank` in microbatches of the whole rank; empty unless the amounts are activations.
    std::vector<double> microbatches;
    [[nodiscard]] bool activations() const { return !microbatches.empty(); }
    bool operator==(const Peak&) const = default;
  };
  std::vector<Peak> peaks;  // the largest of several runs
};
[[nodiscard]] Figures figures(const Timeline& timeline);
// The bubble, and what percentage it is of `of` (the makespan or the span): `9 (27.27 %)`.
[[nodiscard]] std::string bubble_text(double bubble, double of);
// The range over the ranks, with its unit: `1..4`, or `500 MiB` if all ranks have the same.
[[nodiscard]] std::string range_text(const Figures::Peak& peak);
// Puts lines of cells into columns; the first column is left-aligned, the others are right-aligned.
using Cells = std::vector<std::string>;
[[nodiscard]] std::string aligned(const std::vector<Cells>& lines, const std::string& indent = "");
// The means of several runs of one program; `runs` must not be empty.
[[nodiscard]] Figures average(const std::vector<Figures>& runs);

}  // namespace ripeline::view
