// The task that a program's dispatch takes on an engine, and why.
//
// The arbiter that simulates the program is led through the events that its rank saw, and asked.
// Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/facts.h"
#include "core/seen_event.h"
#include "spec/program.h"

namespace ripeline::simulate {

// An engine of a rank that may take a task.
struct Asked {
  int rank = 0;
  core::Engine engine = core::Engine::compute;
  bool is_held = false;  // by the hint, which waits by notices; a trace has only their effects
};
// One line without its end; nothing: the program has no such step. `seen` is what the rank has seen
// of the step until now.
[[nodiscard]] std::optional<std::string> advice(const spec::Program& program,
                                                const core::ProgramFacts& facts, int microbatches,
                                                const Asked& asked,
                                                const std::vector<core::SeenEvent>& seen);

}  // namespace ripeline::simulate
