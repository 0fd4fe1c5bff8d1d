// Notice: what one rank tells another, so that the other can decide whether to wait.
//
// Notices carry durations, since hosts share no clock. A notice that is lost, late, doubled or
// wrong costs time and nothing else. A plain value.
#pragma once

#include <cstdint>

#include "core/task.h"

namespace ripeline::core {

struct Notice {
  enum class Kind : std::uint8_t {
    expected,   // to the edge's consumer: `message` will arrive `in` after this notice
    withdrawn,  // to the edge's consumer: the arrival time of `message` is no longer known
    taken,      // to the edge's producer: `count` tasks of the consumer have started
  };
  Kind kind = Kind::expected;
  Message message = {};  // for `taken` only the edge is set
  Time in{0};
  std::int32_t count = 0;
  bool operator==(const Notice&) const = default;
};

}  // namespace ripeline::core
