// What a program's dispatch takes on an idle engine, and why: what the debugger asks.
//
// The arbiter that simulates the program is led through what its rank has seen, and asked.
#pragma once

#include "cli/pictures.h"
#include "view/debugger.h"

namespace ripeline::cli {

// Of a run of a program, which must outlive it; a trace alone has no dispatch, and gets no adviser.
[[nodiscard]] view::Adviser adviser_of(const Run& run);

}  // namespace ripeline::cli
