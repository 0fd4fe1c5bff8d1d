// HandOver: the message that an engine hands over by rendezvous; until then it starts no task.
//
// Pure; derived from the machine's state alone.
#pragma once

#include <optional>

#include "spec/machine.h"

namespace ripeline::spec {

struct HandOver {
  Task sender;  // the task that has ended
  Task taker;   // must be the next of its engine before the message arrives
};

// The first such message by edge; nothing if the engine hands none over.
[[nodiscard]] std::optional<HandOver> handed_over(const Machine& machine,
                                                  const Machine::State& state, int rank,
                                                  Engine engine);

}  // namespace ripeline::spec
