// HandOver: the rendezvous message that an engine hands over; meanwhile the engine starts no task.
//
// Pure; derived from the machine's state alone.
#pragma once

#include <optional>

#include "spec/machine.h"

namespace ripeline::spec {

struct HandOver {
  Task sender;  // the task that has ended
  Task taker;   // must be next on its engine before the message arrives
};

// The engine's first such message by edge; nullopt if the engine hands no message over.
[[nodiscard]] std::optional<HandOver> handed_over(const Machine& machine,
                                                  const Machine::State& state, int rank,
                                                  Engine engine);

}  // namespace ripeline::spec
