// The events of a step as one rank sees them, for code that repeats a run. Plain values.
#pragma once

#include <cstdint>

#include "core/task.h"

namespace ripeline::core {

// An event that one rank has seen. Lists of events are in the order in which the rank saw them.
struct SeenEvent {
  enum class What : std::uint8_t {
    ended,    // `task`
    arrived,  // `message`, at the consumer
    taken,    // `message`, a rendezvous, at the producer
    started,  // `task`
  };
  What what = What::ended;
  Task task = {};
  Message message = {};
  Time at{0};
};

}  // namespace ripeline::core
