// HandOver: the message that an engine hands over by rendezvous, and so cannot start its next task.
//
// Pure; the machine's state says all of it.
#pragma once

#include <optional>

#include "spec/machine.h"

namespace ripeline::spec {

struct HandOver {
  Task sender;  // has ended
  Task taker;   // must be the next of its engine before the message arrives
};

// The first by edge of those that the engine hands over; nothing: it hands over none.
[[nodiscard]] std::optional<HandOver> handed_over(const Machine& machine,
                                                  const Machine::State& state, int rank,
                                                  Engine engine);

}  // namespace ripeline::spec
