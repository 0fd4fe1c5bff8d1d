// Outgoing: a message that a process wants sent. Plain value.
#pragma once

#include "runtime/transport.h"

namespace ripeline::runtime::process {

struct Outgoing {
  int to = -1;  // process
  Envelope envelope;
  Payload payload;
};

}  // namespace ripeline::runtime::process
