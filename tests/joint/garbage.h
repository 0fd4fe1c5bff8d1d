// Garbage: messages of a faulty process: repeats of its own, and what no process of the run sends.
#pragma once

#include <string>
#include <vector>

#include "core/facts.h"
#include "runtime/process/outgoing.h"
#include "tests/joint/random.h"

namespace ripeline::joint {

struct Garbage {
  std::string what;  // in words
  runtime::process::Outgoing message;
};

// From process `from` to `to`, which got `sent` from it, the latest last. Without facts nothing of
// edges: what one program sends might be what another one waits for, which nobody can tell.
[[nodiscard]] Garbage draw_garbage(const core::ProgramFacts* facts, int from, int to,
                                   const std::vector<runtime::process::Outgoing>& sent,
                                   Random& random);

}  // namespace ripeline::joint
