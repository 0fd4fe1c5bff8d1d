// The debugger's adviser: simulate/advice.h, for a run.
#pragma once

#include "cli/pictures.h"
#include "view/debugger.h"

namespace ripeline::cli {

// For a run of a program, which must outlive it. A trace alone has no dispatch, and no adviser.
[[nodiscard]] view::Adviser adviser_of(const Run& run);

}  // namespace ripeline::cli
