// Common parts of the transports: checks of what they send and receive, the time at which a message
// arrived, and the report of a loss.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "runtime/network/buffer_pool.h"
#include "runtime/transport.h"

namespace ripeline::runtime::network {

[[nodiscard]] core::Status check_receiver(const Transport& transport, int to);
// Refuses parts that are not in the host's memory.
[[nodiscard]] core::Status check_on_host(const Payload& payload);

// The error for a frame whose parts take more than `largest_payload` bytes.
[[nodiscard]] core::Status over_limit(std::uint64_t largest_payload);
// Adds a part of `size` bytes, in memory from `pool`; fails if there is no memory.
core::Status add_part(BufferPool& pool, core::EdgeId edge, std::size_t size, Payload& payload);

// The times at which a process looks for messages.
struct Looks {
  core::Time last{0};  // when the last poll ended
  bool waits = false;  // inside a poll

  // The arrival time of a message that is seen `now`: `now` if a poll is waiting, otherwise the
  // time when it was sent, but not before the last poll ended and not after `now`.
  [[nodiscard]] core::Time came(core::Time sent, core::Time now) const {
    return waits ? now : std::clamp(sent, std::min(last, now), now);
  }
};

// The delivery that reports the loss of `process`; it is the last delivery from that process.
[[nodiscard]] Delivery loss_of(int process, const std::string& how, core::Time at);

}  // namespace ripeline::runtime::network
