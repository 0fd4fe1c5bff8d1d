// From a FILE to a run in two steps, between which those that stand side by side agree on their
// numbers of ranks and microbatches. Errors are on standard error already.
#pragma once

#include <string>

#include "cli/pictures.h"

namespace ripeline::cli {

[[nodiscard]] bool is_trace(const std::string& file);
// A trace is a run already; of a program, the run is still to be made.
[[nodiscard]] spec::Result<Run> opened(const std::string& file, const RunFlags& flags);
[[nodiscard]] spec::Result<Run> made(Run run, const RunFlags& flags);

}  // namespace ripeline::cli
