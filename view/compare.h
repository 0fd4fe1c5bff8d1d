// Compare: several schedules side by side, as a table.
//
// Times are in the unit of the first, so the units must be of one length. What makes a comparison
// unfair or easy to misread is said below the table: other work, other memory, and walls that are
// longer than spans. Memory is counted for all of a rank's layers: of K stages on a rank, each
// activation is a K-th of one. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "view/timeline.h"

namespace ripeline::view {

// Of one run, or the means of several; times in the run's unit.
struct Figures {
  double wall = 0;         // from the first start to the last end, of all ranks
  double span = 0;         // of the rank for which it is largest: last end - first start
  double work = 0;         // of the rank whose compute engine works longest
  double span_bubble = 0;  // span - work
  double wall_bubble = 0;  // wall - work
  struct Peak {
    std::string resource;
    std::vector<std::int64_t> per_rank;
    // Counted for all of the rank's layers; as `per_rank` if not `activations`.
    std::vector<double> of_layers;
    // It counts activations of stages: it has no unit of its own, such as bytes, and is acquired
    // one at a time.
    bool activations = false;
    bool operator==(const Peak&) const = default;
  };
  std::vector<Peak> peaks;  // of several runs, the most
};
[[nodiscard]] Figures figures(const Timeline& timeline);
// `9 (27.27 %)`, of the wall or the span that it is in.
[[nodiscard]] std::string bubble_text(double bubble, double of);
// Over the ranks: `1..4`, or `8` where it is the same for all.
[[nodiscard]] std::string range_text(const Figures::Peak& peak);
// Of several runs of one program. Not empty.
[[nodiscard]] Figures average(const std::vector<Figures>& runs);

// How many times as fast as the first, and where that lies with 95 % confidence.
struct Speed {
  double ratio = 1;
  std::optional<double> low = std::nullopt;  // nothing: of one run
  std::optional<double> high = std::nullopt;
};

// A line of the table.
struct Compared {
  std::string title;
  std::string program;
  trace::Unit unit;
  Figures figures;
  bool stuck = false;
  // What the rank with the most work has, by the means of its costs, without what was drawn;
  // nothing: that is known of the run alone, as of a trace.
  std::optional<double> work = std::nullopt;
  std::optional<Speed> speed = std::nullopt;  // nothing: nothing ran
};

struct CompareOptions {
  int runs = 1;                                 // of each, with different draws
  std::uint64_t seed = 1;                       // of the first run
  std::optional<double> memory = std::nullopt;  // activations of a rank's layers that have room
  std::string same_work = {};                   // if work differs: how to give all the same
};
// A line for each, then what to know of them. Fails: units of different lengths.
[[nodiscard]] core::Status compare_text(const std::vector<Compared>& all,
                                        const CompareOptions& options, std::string& text);
// `{"schema":"ripeline.compare/2","runs":[…],"equal_memory":…,"equal_work":…}`
[[nodiscard]] std::string compare_json(const std::vector<Compared>& all,
                                       const CompareOptions& options);

}  // namespace ripeline::view
