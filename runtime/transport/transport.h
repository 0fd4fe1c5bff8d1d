// A Transport carries messages between ranks.
//
// A message that arrives is reported once, whole, with the task it belongs to; messages may
// overtake each other. send() returns at once and takes the payload. Messages may arrive before the
// local rank is ready for them: they are queued, never dropped. After the first failure every later
// call fails too, with who was lost. Every wait has a limit. One Transport belongs to one thread.
//
//   transport.send(1, {.step = 0, .message = m, .sent = now}, std::move(bytes));
//   transport.poll(50ms, deliveries);
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/status.h"
#include "core/task.h"

namespace ripeline::runtime {

// Opaque bytes of a tensor or whatever the stages agree on.
using Payload = std::vector<std::byte>;

// What a message is to its receiver; announcements and grants carry no payload (core/links.h).
enum class Signal : std::uint8_t {
  data,      // the message
  announce,  // it waits at its sender to be granted
  grant,     // it may leave, or its slot is free
  notice,    // what the sender's rank tells of itself (core/notice.h)
};

struct Envelope {
  std::int64_t step = 0;
  core::Message message;
  // When it was sent, on the sender's monotonic clock. Comparable between the ranks of one host
  // only; used by injected delays and traces, never by a decision.
  core::Time sent{0};
  Signal signal = Signal::data;
  std::int32_t ordinal = 0;  // of data and announce: its place among its edge's messages
};

struct Delivery {
  Envelope envelope;
  Payload payload;
  // When it came, on this rank's clock, as near as the transport knows: a rank that was busy is
  // given it later.
  core::Time at{0};
};

class Transport {
 public:
  virtual ~Transport() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int ranks() const = 0;

  virtual core::Status send(int to_rank, const Envelope& envelope, Payload payload) = 0;

  // Moves bytes and appends what has arrived; waits up to `wait` if nothing has. Returning with
  // nothing is no failure.
  virtual core::Status poll(std::chrono::nanoseconds wait, std::vector<Delivery>& deliveries) = 0;

  // Every rank gives its bytes and gets those of all, by rank. All ranks must call it in the same
  // order; also the barrier. Messages that arrive meanwhile are queued.
  virtual core::Status all_gather(const Payload& mine, std::chrono::nanoseconds limit,
                                  std::vector<Payload>& all) = 0;

  // All ranks say goodbye before anyone closes; afterwards a closed peer is no loss.
  virtual core::Status finish(std::chrono::nanoseconds limit) = 0;

  // Tells the peers why this rank stops, as far as they can still be reached, so that they name the
  // cause and not the messenger.
  virtual void abandon(const core::Status& why) = 0;
};

}  // namespace ripeline::runtime
