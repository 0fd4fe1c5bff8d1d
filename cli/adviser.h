// The debugger's adviser: the task that a program's dispatch takes on an idle engine, and why.
//
// The arbiter that simulates the program is led through the events that its rank saw, and asked.
#pragma once

#include "cli/pictures.h"
#include "view/debugger.h"

namespace ripeline::cli {

// For a run of a program, which must outlive it. A trace alone has no dispatch, and no adviser.
[[nodiscard]] view::Adviser adviser_of(const Run& run);

}  // namespace ripeline::cli
