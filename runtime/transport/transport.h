// A Transport carries messages between the processes of a run.
//
// A message that arrives is reported once, whole, with who sent it; messages may overtake each
// other. send() returns at once and takes the payload, whose parts are not copied before they are
// on their way. Messages may arrive before the process is ready for them: they are queued, never
// dropped. A peer that is gone is told by one delivery, after all that it sent; messages to it are
// forgotten. Every wait has a limit. One Transport belongs to one thread, but for wake().
//
//   transport.send(1, {.step = 0, .message = m, .sent = now}, std::move(payload));
//   transport.poll(50ms, deliveries);
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/status.h"
#include "core/task.h"
#include "runtime/payload.h"

namespace ripeline::runtime {

// The meaning of a delivery; announcements and grants carry no payload (core/links.h).
enum class Signal : std::uint8_t {
  data,      // the message
  announce,  // it waits at its sender to be granted
  grant,     // it may leave, or its slot is free
  notice,    // a report of the sender's rank on itself (core/notice.h)
  begun,     // the sender's rank has begun the step, with so many microbatches; of no edge
  ballot,    // a member's vote on what starts next (core/agreement.h); of no message
  gather,    // a part of a gather (runtime/gather.h)
  report,    // the run fails: a process's report on itself (runtime/report.h)
  carrier,   // between the transports of two devices (runtime/carrier_words.h)
  lost,      // the sender is gone; the head says how. Never sent
};
// Whether it belongs to a message of the program: between the two ranks of its edge.
[[nodiscard]] constexpr bool is_of_edge(Signal signal) { return signal <= Signal::notice; }
// For the rank, and not for its process.
[[nodiscard]] constexpr bool is_of_rank(Signal signal) { return signal <= Signal::ballot; }

struct Envelope {
  std::int64_t step = 0;
  core::Message message;
  // When it was sent, on the monotonic clock of the process that has the envelope, as near as the
  // transport knows. For injected delays and traces, never for a decision.
  core::Time sent{0};
  Signal signal = Signal::data;
  std::int32_t ordinal = 0;  // data, announce: position among its edge's messages
};

struct Delivery {
  int from = -1;  // the process; whether it may send this is for the receiver to check
  Envelope envelope;
  Payload payload;
  // When it came, on this process's clock, as near as the transport knows: a rank that was busy is
  // given it later.
  core::Time at{0};
};

class Transport {
 public:
  virtual ~Transport() = default;

  [[nodiscard]] virtual int self() const = 0;
  [[nodiscard]] virtual int processes() const = 0;
  // Those that it is connected with, ascending; always those next to it in the tree
  // (runtime/tree.h).
  [[nodiscard]] virtual const std::vector<int>& neighbours() const = 0;

  // Refuses, by status, a process that is no neighbour and parts that it cannot reach.
  virtual core::Status send(int to, const Envelope& envelope, Payload payload) = 0;

  // Moves bytes and appends what has arrived; waits up to `wait` if nothing has, or until wake().
  // Returning with nothing is no failure.
  virtual core::Status poll(std::chrono::nanoseconds wait, std::vector<Delivery>& deliveries) = 0;

  // Makes the present poll() return, or the next one; and the present finish(). From any thread.
  virtual void wake() = 0;

  // From now on poll() also returns, and finish() fails, when the descriptor is readable; one,
  // which stays the caller's. For a transport around this one. Refused by status where there is no
  // way.
  virtual core::Status watch(int /*descriptor*/) {
    return {core::StatusCode::refused, "this transport cannot watch a descriptor"};
  }

  // Bytes that wait here to be sent to it.
  [[nodiscard]] virtual std::size_t queued(int to) const = 0;

  // When a neighbour last gave a sign of life, be it part of a message, on the monotonic clock;
  // now, if it has said goodbye: it may end before others do, and is not missed.
  [[nodiscard]] virtual core::Time heard(int from) const = 0;

  // The monotonic clock here minus that of process 0, as near as is known.
  [[nodiscard]] virtual core::Time ahead() const = 0;

  // All neighbours say goodbye before anyone closes; a peer that closes after its goodbye is no
  // loss. Fails by status if that takes longer, at wake(), or as soon as something else comes,
  // which poll() gives: then the caller may try again.
  virtual core::Status finish(std::chrono::nanoseconds limit) = 0;

  // For a process that stops: waits until what it has to say of it has left, or nobody reads it.
  virtual void flush(std::chrono::nanoseconds limit) = 0;
};

}  // namespace ripeline::runtime
