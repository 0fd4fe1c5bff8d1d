// Common parts of the transports: what they refuse to send and to take, when a message came, and
// how they report a loss.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "runtime/network/place.h"
#include "runtime/transport.h"

namespace ripeline::runtime::network {

[[nodiscard]] core::Status check_receiver(const Transport& transport, int to);
// Refuses parts that are not in the host's memory.
[[nodiscard]] core::Status check_on_host(const Payload& payload);

// The error of a frame whose parts take more bytes than that.
[[nodiscard]] core::Status over_limit(std::uint64_t largest_payload);
// Adds a part of so many bytes, in room from the place, unless there is none.
core::Status add_part(Place& place, core::EdgeId edge, std::size_t size, Payload& payload);

// When somebody looks for messages.
struct Looks {
  core::Time last{0};  // when the last poll ended
  bool waits = false;  // inside a poll

  // When a message came that is seen now: while nobody looked, at the earliest when it was sent, or
  // when somebody looked last.
  [[nodiscard]] core::Time came(core::Time sent, core::Time now) const {
    return waits ? now : std::clamp(sent, std::min(last, now), now);
  }
};

// The last delivery of a process that is gone.
[[nodiscard]] Delivery loss_of(int process, const std::string& how, core::Time at);

}  // namespace ripeline::runtime::network
