// The repair of a schedule of PyTorch: a table that is proved, with a list of the changes.
//
// All computations are kept, and as many as possible stay at their places (fewest_moves.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pytorch/check.h"
#include "spec/diagnostics.h"

namespace ripeline::pytorch {

// A table that check() proves, made from one that it does not prove under the same options.
struct Repair {
  ActionTable table;
  std::vector<std::string> changes;       // sentences for people, one per change
  std::vector<std::int64_t> peak_before;  // per rank, with the computations in the file's order
  std::vector<std::int64_t> rank_peak;    // per rank of `table`, as CheckReport::rank_peak
};
// For people: a line for each change, and one with the peaks.
[[nodiscard]] std::string repair_text(const Repair& repair);
// The beginnings of messages about a schedule that passes, and about one for which repair() fails.
inline constexpr const char* kNothingToRepair = "nothing to repair";
inline constexpr const char* kNoRepair = "no repair";
// Errors: check-no-repair, if these changes do not give a table that is proved.
[[nodiscard]] spec::Result<Repair> repair(const ReadActions& read, const CheckReport& report,
                                          const CheckOptions& options);

}  // namespace ripeline::pytorch
