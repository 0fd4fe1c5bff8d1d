#include "cli/quicker.h"

#include <algorithm>

namespace ripeline::cli {

// A committed order of one count is one graph. A ready dispatch takes as long for any counts;
// there the number of ranks matters, and a proof for all of them does not look at each.
std::string quicker_than(const spec::Program& program) {
  const bool one_count = program.microbatches.max == program.microbatches.min;
  if (program.dispatch.in_order) {
    return one_count ? "" : "One count of microbatches is proved sooner: -m 16, for example.";
  }
  const bool has_ranks = std::any_of(program.params.begin(), program.params.end(),
                                     [](const auto& param) { return param.first == "ranks"; });
  if (!has_ranks) return "";
  return "Fewer ranks are proved sooner, and so is every number of them at once, where all stages "
         "look alike: -D ranks=any.";
}

}  // namespace ripeline::cli
