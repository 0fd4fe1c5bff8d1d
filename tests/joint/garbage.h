// Draws wrong messages of a faulty process: repeats of its own, or messages that no process sends.
#pragma once

#include <string>
#include <vector>

#include "core/facts.h"
#include "runtime/protocol/outgoing.h"
#include "tests/joint/random.h"

namespace ripeline::joint {

struct Garbage {
  std::string what;  // description
  runtime::protocol::Outgoing message;
};

// A wrong message from process `from` to `to`. `sent` has the messages so far, the latest last. If
// facts are null, no wrong edge is drawn, since another program's ranks may wait for its messages.
[[nodiscard]] Garbage draw_garbage(const core::ProgramFacts* facts, int from, int to,
                                   const std::vector<runtime::protocol::Outgoing>& sent,
                                   Random& random);

}  // namespace ripeline::joint
