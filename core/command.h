// Command: what an executor asks of the code that feeds it events.
//
// A plain value.
#pragma once

#include <cstdint>

#include "core/notice.h"
#include "core/task.h"

namespace ripeline::core {

struct Command {
  enum class Kind : std::uint8_t {
    start,       // run `task` on its lane's engine, then report finished(task)
    send,        // send `message` to the rank of its edge's consumer
    announce,    // tell the rank of its edge's consumer that `message` waits to be granted
    grant,       // tell the rank of its edge's producer that `message` is granted (core/links.h)
    hold_until,  // nothing starts before `until` or an event; call poll() at `until`
    notify,      // give `notice` to the executor of rank `to`; it may be lost
    ballot,      // give ballot(engine) to all others that agree on the engine
  };
  Kind kind = Kind::start;
  Engine engine = Engine::compute;  // ballot
  Task task = {};
  Message message = {};
  Time until{0};
  std::int32_t ordinal = 0;  // send, announce: is sent with the message
  std::int32_t to = -1;      // notify
  Notice notice = {};
  bool operator==(const Command&) const = default;
};

}  // namespace ripeline::core
