// Figures: what came of a run, in numbers: its times, and what each rank held.
//
// Amounts are counted as core/vocabulary/per_rank.h says. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "view/timeline.h"

namespace ripeline::view {

// The numbers of one run, or the means of several; times in the run's unit.
struct Figures {
  double wall = 0;         // from the first start to the last end, of all ranks
  double span = 0;         // the longest of a rank: last end - first start
  double work = 0;         // the longest that a rank's compute engine works
  double span_bubble = 0;  // span - work
  double wall_bubble = 0;  // wall - work
  // The most that each rank held of a resource at once, in the program's amounts.
  struct Peak {
    std::string resource;
    std::string unit;  // as core::unit_of_amounts()
    std::vector<std::int64_t> per_rank;
    // The same in microbatches of the whole rank; empty: it does not count activations.
    std::vector<double> microbatches;
    [[nodiscard]] bool activations() const { return !microbatches.empty(); }
    bool operator==(const Peak&) const = default;
  };
  std::vector<Peak> peaks;  // over several runs, the most
};
[[nodiscard]] Figures figures(const Timeline& timeline);
// `9 (27.27 %)`, of the wall or the span that it is in.
[[nodiscard]] std::string bubble_text(double bubble, double of);
// Over the ranks, with its unit: `1..4`, or `500 MiB` where it is the same for all.
[[nodiscard]] std::string range_text(const Figures::Peak& peak);
// The means of several runs of one program. Not empty.
[[nodiscard]] Figures average(const std::vector<Figures>& runs);

}  // namespace ripeline::view
