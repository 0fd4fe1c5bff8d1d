// Outgoing: a message that a process is about to send. Plain value.
#pragma once

#include "runtime/transport.h"

namespace ripeline::runtime::protocol {

struct Outgoing {
  int to = -1;  // process
  Envelope envelope;
  Payload payload;
};

}  // namespace ripeline::runtime::protocol
