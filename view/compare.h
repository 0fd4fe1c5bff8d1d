// Compare: several schedules side by side, as a table.
//
// Times are in the unit of the first, so the units must be of one length. Ratios refer to the
// baseline, the first that ended. A line that is not like the baseline's says so: other numbers of
// ranks or microbatches, other work, a deadlock. What else makes a comparison unfair or easy to
// misread is said below the table. Memory is compared in microbatches of the whole rank
// (core/vocabulary/per_rank.h). Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "trace/about.h"
#include "view/figures.h"

namespace ripeline::view {

// How many times as fast as the baseline, and where that lies with 95 % confidence.
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
  int ranks = 1;
  int microbatches = 1;
  Figures figures;
  bool stuck = false;
  // The work of the rank that has the most, by the means of its costs, without what was drawn;
  // nothing: known only from the run itself, as with a trace.
  std::optional<double> work = std::nullopt;
  // Nothing: it is the time of something else, or nothing ran; and as long as speeds are not known.
  std::optional<Speed> speed = std::nullopt;
};
// The first that ended; nothing: none did.
[[nodiscard]] std::optional<std::size_t> baseline_of(const std::vector<Compared>& all);
// Whether a ratio of their times is one of speeds: both ended, with as many ranks and microbatches.
[[nodiscard]] bool are_alike(const Compared& one, const Compared& other);
// Whether their busiest ranks have the same work. What was drawn or measured may differ a little.
[[nodiscard]] bool same_work(const Compared& one, const Compared& other);

// How much a rank may hold: bytes, or microbatches of the whole rank.
struct MemoryLimit {
  double amount = 0;
  bool bytes = false;
  std::string text;  // as it was given
};
// Whether no rank holds more than that of what the limit is about; nothing: the run has none of it.
[[nodiscard]] std::optional<bool> fits(const Compared& one, const MemoryLimit& limit);

struct CompareOptions {
  int runs = 1;            // per schedule, with different draws
  std::uint64_t seed = 1;  // the first run's
  std::optional<MemoryLimit> memory = std::nullopt;
  std::string same_work = {};  // if work differs: how to give all the same
};
// A line for each, then what to know of them. Fails: units of different lengths.
[[nodiscard]] core::Status compare_text(const std::vector<Compared>& all,
                                        const CompareOptions& options, std::string& text);
// `{"schema":"ripeline.compare/2","runs":[…],"baseline":…,"equal_size":…,"equal_memory":…,"equal_work":…}`
[[nodiscard]] std::string compare_json(const std::vector<Compared>& all,
                                       const CompareOptions& options);

}  // namespace ripeline::view
