// A Transport carries messages between the processes of a run.
//
// A message that arrives is reported once, whole, with who sent it; messages may overtake each
// other. send() returns at once and takes the payload, whose parts are not copied before they are
// on their way. Messages may arrive before the process is ready for them: they are queued, never
// dropped. A peer that is gone is told by one delivery, after all that it sent; messages to it are
// forgotten. Every wait has a limit. One Transport belongs to one thread, but for wake().
//
//   transport.send(1, {.signal = signals::Data{{.step = 0, .message = m}}, .sent = now},
//                  std::move(payload));
//   transport.poll(50ms, deliveries);
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/status.h"
#include "core/task.h"
#include "runtime/payload.h"

namespace ripeline::runtime {

// The meanings of a delivery, each with what it says beside its payload.
namespace signals {

// Between the two ranks of an edge; announcements and grants carry no payload (core/links.h).
struct OfMessage {
  std::int64_t step = 0;
  core::Message message = {};
  bool operator==(const OfMessage&) const = default;
};
// The message.
struct Data : OfMessage {
  std::int32_t ordinal = 0;  // position among its edge's messages
  bool operator==(const Data&) const = default;
};
// It waits at its sender to be granted.
struct Announce : OfMessage {
  std::int32_t ordinal = 0;  // the position of the message
  bool operator==(const Announce&) const = default;
};
// It may leave, or its slot is free.
struct Grant : OfMessage {
  bool operator==(const Grant&) const = default;
};
// A report of the sender's rank on itself (core/notice.h).
struct Notice : OfMessage {
  bool operator==(const Notice&) const = default;
};

// The sender's rank has begun the step, with so many microbatches.
struct Begun {
  std::int64_t step = 0;
  std::int32_t microbatches = 0;
  bool operator==(const Begun&) const = default;
};
// A member's vote on what starts next (core/agreement.h).
struct Ballot {
  std::int64_t step = 0;
  bool operator==(const Ballot&) const = default;
};

// A part of a gather (runtime/process/gather.h).
struct Gather {
  std::int64_t number = 0;  // the gather's, from 0
  bool operator==(const Gather&) const = default;
};
// The run fails: a process's report on itself (runtime/process/report.h).
struct Report {
  bool operator==(const Report&) const = default;
};
// Between the transports of two devices (runtime/process/carrier_words.h).
struct Carrier {
  Data data = {};  // the message that a word `landed` or `launched` is about; else as it is made
  bool operator==(const Carrier&) const = default;
};
// Between two transports while they connect (runtime/network/ucx_transport.h).
struct Connect {
  std::int32_t word = 0;
  core::StatusCode code = core::StatusCode::ok;  // a refusal's
  bool operator==(const Connect&) const = default;
};
// The sender is gone; the head says how. Never sent.
struct Lost {
  bool operator==(const Lost&) const = default;
};

}  // namespace signals

using Signal = std::variant<signals::Data, signals::Announce, signals::Grant, signals::Notice,
                            signals::Begun, signals::Ballot, signals::Gather, signals::Report,
                            signals::Carrier, signals::Connect, signals::Lost>;

// The message that it is of; null: it is of none. `AnySignal` is Signal, const or not.
template <class AnySignal>
[[nodiscard]] auto message_of(AnySignal& signal) {
  using Of =
      std::conditional_t<std::is_const_v<AnySignal>, const signals::OfMessage, signals::OfMessage>;
  return std::visit(
      [](auto& of_kind) -> Of* {
        if constexpr (std::is_convertible_v<decltype(&of_kind), Of*>) {
          return &of_kind;
        } else {
          return nullptr;
        }
      },
      signal);
}

struct Envelope {
  Signal signal = {};
  // When it was sent, on the monotonic clock of the process that has the envelope, as near as the
  // transport knows. For injected delays and traces, never for a decision.
  core::Time sent{0};

  template <class OfKind>
  [[nodiscard]] bool is() const {
    return std::holds_alternative<OfKind>(signal);
  }
  bool operator==(const Envelope&) const = default;
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
  // (runtime/process/tree.h).
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
