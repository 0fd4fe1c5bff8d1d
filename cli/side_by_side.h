// Runs that stand side by side. Errors are on standard error already.
#pragma once

#include <string>
#include <vector>

#include "cli/pictures.h"
#include "spec/diagnostics.h"

namespace ripeline::cli {

// The runs, to stand side by side. Without -m, an input with one number of microbatches alone, as a
// CSV or a trace, gives that number to the others that can have it; so does, without -D ranks, an
// input with one number of ranks alone, and fails if another cannot have it. Standard error says
// so, and names the numbers if they still differ. A param of -D is set in the programs that have
// it; standard error names the others, and no program with it is an error. A trace gives a run for
// each of `each_of_steps`.
[[nodiscard]] spec::Result<std::vector<Run>> load_runs(const std::vector<std::string>& files,
                                                       const RunFlags& flags);

}  // namespace ripeline::cli
