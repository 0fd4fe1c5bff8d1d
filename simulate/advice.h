// The task that a program's dispatch chooses for an engine, and why.
//
// The arbiter that simulates the program is given the events that its rank has seen, and is asked
// for its choice. Pure functions.
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
  bool is_held = false;  // held by the hint; an input, since traces have no notices
};
// One line without a newline; nullopt if the program has no step with that many microbatches.
// `seen` has the events of the step that the rank has seen until now.
[[nodiscard]] std::optional<std::string> advice(const spec::Program& program,
                                                const core::ProgramFacts& facts, int microbatches,
                                                const Asked& asked,
                                                const std::vector<core::SeenEvent>& seen);

}  // namespace ripeline::simulate
