// The repair of a schedule of PyTorch: a table that is proved, with what was done to it.
//
// The computations stay, and as many of them as can where they are (fewest_moves.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pytorch/check.h"
#include "spec/diagnostics.h"

namespace ripeline::verify {

// A table that check() proves under the same options, made from one that it does not.
struct Repair {
  spec::ActionTable table;
  std::vector<std::string> changes;       // sentences for people, one per change
  std::vector<std::int64_t> peak_before;  // per rank, with the computations as the file has them
  std::vector<std::int64_t> rank_peak;    // the table's, as CheckReport::rank_peak
};
// Errors: check-no-repair, when none of these changes gives a table that is proved.
[[nodiscard]] spec::Result<Repair> repair(const spec::ReadActions& read, const CheckReport& report,
                                          const CheckOptions& options);

}  // namespace ripeline::verify
