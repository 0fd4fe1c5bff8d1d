// Compare: several schedules side by side, as a table.
//
// Times are in the unit of the first schedule, so all units must have the same length. Ratios refer
// to the baseline, which is the first schedule that ended. A schedule's line says if it differs
// from the baseline in the number of ranks or microbatches or in its work, or if it deadlocked.
// Remarks below the table name what else makes the comparison unfair or easy to misread. Memory is
// compared in microbatches of the whole rank (core/vocabulary/per_rank.h). Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/status.h"
#include "trace/about.h"
#include "view/figures.h"

namespace ripeline::view {

// The speed as a multiple of the baseline's, and the bounds of its 95 % confidence interval.
struct Speed {
  double ratio = 1;
  std::optional<double> low = std::nullopt;  // nullopt if there is only one run
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
  // The work of the busiest rank by the means of its costs, before random draws. nullopt if it is
  // known only from the run itself, as with a trace.
  std::optional<double> work = std::nullopt;
  // nullopt if the run is unlike the baseline (are_alike()), nothing ran, or no speed is known yet.
  std::optional<Speed> speed = std::nullopt;
};
// The index of the first line whose run ended; nullopt if none did.
[[nodiscard]] std::optional<std::size_t> baseline_of(const std::vector<Compared>& all);
// Whether speeds can be compared: if both runs ended, with equal numbers of ranks and microbatches.
[[nodiscard]] bool are_alike(const Compared& one, const Compared& other);
// Whether the busiest ranks of both have the same work. Work that was measured may differ a little.
[[nodiscard]] bool same_work(const Compared& one, const Compared& other);

// A limit on what a rank may hold: in bytes, or in microbatches of the whole rank.
struct MemoryLimit {
  double amount = 0;
  bool bytes = false;
  std::string text;  // as the user wrote it
};
// Whether no rank holds more than the limit; nullopt if the run has no resource of this kind.
[[nodiscard]] std::optional<bool> fits(const Compared& one, const MemoryLimit& limit);

struct CompareOptions {
  int runs = 1;            // per schedule, with different draws
  std::uint64_t seed = 1;  // the seed of the first run
  std::optional<MemoryLimit> memory = std::nullopt;
  std::string same_work = {};  // if work differs: how to make it the same
};
// Makes the table, followed by remarks on it. Fails if the units differ in length.
[[nodiscard]] core::Status compare_text(const std::vector<Compared>& all,
                                        const CompareOptions& options, std::string& text);
// JSON of the schema ripeline.compare/2: runs, baseline, equal_size, equal_memory, equal_work.
[[nodiscard]] nlohmann::json compare_json(const std::vector<Compared>& all,
                                          const CompareOptions& options);

}  // namespace ripeline::view
