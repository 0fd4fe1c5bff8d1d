// Notice: what one rank tells another so that it can wait for the right thing.
//
// Notices carry durations, since hosts share no clock. They may be lost, late, doubled or wrong:
// that costs time and nothing else. A plain value.
#pragma once

#include <cstdint>

#include "core/task.h"

namespace ripeline::core {

struct Notice {
  enum class Kind : std::uint8_t {
    expected,   // to the edge's consumer: `message` will arrive `in` from when this comes
    withdrawn,  // to the edge's consumer: when it will is not known any more
    taken,      // to the edge's producer: `count` tasks of its consumer have started
  };
  Kind kind = Kind::expected;
  Message message = {};  // `taken` has only its edge
  Time in{0};
  std::int32_t count = 0;
  bool operator==(const Notice&) const = default;
};

}  // namespace ripeline::core
