// The warnings of `verify` and `generate`: text that has a meaning, but hardly the one meant.
#pragma once

#include "load/program.h"
#include "spec/diagnostics.h"

namespace ripeline::cli {

// The warnings of spec/lint.h, after they have been said on standard error. A schedule of PyTorch
// has none: nobody wrote the text that it stands for.
[[nodiscard]] spec::Diagnostics said_warnings(const load::LoadedProgram& loaded);

}  // namespace ripeline::cli
