// A Transport carries messages between the processes of a run.
//
// A message that arrives is reported once, when it is complete, with its sender; messages may
// overtake each other. send() returns at once and takes the payload, whose parts are not copied
// before they are sent. Messages that arrive before the process is ready for them are queued, never
// dropped. The loss of a peer is reported by one delivery, after all messages of the peer. Messages
// to that peer are then dropped. Every wait has a limit. All calls but wake() come from one thread.
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

// The kinds of deliveries, each with the values that it carries beside its payload.
namespace signals {

// The base of signals between an edge's two ranks. Announce and Grant have no payload.
struct OfMessage {
  std::int64_t step = 0;
  core::Message message = {};
  bool operator==(const OfMessage&) const = default;
};
// The message itself.
struct Data : OfMessage {
  std::int32_t ordinal = 0;  // position among its edge's messages
  bool operator==(const Data&) const = default;
};
// Says that the message waits at its sender for a Grant.
struct Announce : OfMessage {
  std::int32_t ordinal = 0;  // the position of the message
  bool operator==(const Announce&) const = default;
};
// The receiver permits an announced message, or reports a sent one's slot as free (core/links.h).
struct Grant : OfMessage {
  bool operator==(const Grant&) const = default;
};
// A report of the sender's rank on itself (core/notice.h).
struct Notice : OfMessage {
  bool operator==(const Notice&) const = default;
};

// The sender's rank has begun the step, with this number of microbatches.
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

// A part of a gather (runtime/protocol/gather.h).
struct Gather {
  std::int64_t number = 0;  // the number of the gather, from 0
  bool operator==(const Gather&) const = default;
};
// A process's report on itself, which makes the run fail (runtime/protocol/report.h).
struct Report {
  bool operator==(const Report&) const = default;
};
// Exchanged by the two ends of a carrier (runtime/protocol/carrier_messages.h).
struct Carrier {
  Data data = {};  // the message that `landed` or `launched` is about; otherwise the default
  bool operator==(const Carrier&) const = default;
};
// Exchanged by two transports while they connect (runtime/network/ucx_transport.h).
struct Connect {
  std::int32_t kind = 0;
  core::StatusCode code = core::StatusCode::ok;  // the reason of a refusal
  bool operator==(const Connect&) const = default;
};
// Delivered by the transport itself when a peer is lost; the payload's head says how. Never sent.
struct Lost {
  bool operator==(const Lost&) const = default;
};

}  // namespace signals

using Signal = std::variant<signals::Data, signals::Announce, signals::Grant, signals::Notice,
                            signals::Begun, signals::Ballot, signals::Gather, signals::Report,
                            signals::Carrier, signals::Connect, signals::Lost>;

// The message that the signal is about; null if there is none. `AnySignal` may be const.
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
  // When the message was sent, on the monotonic clock of the process that has the envelope, as near
  // as the transport knows. For injected delays and traces, never for a decision.
  core::Time sent{0};

  template <class OfKind>
  [[nodiscard]] bool is() const {
    return std::holds_alternative<OfKind>(signal);
  }
  bool operator==(const Envelope&) const = default;
};

struct Delivery {
  int from = -1;  // the sending process; the receiver checks that it may send this
  Envelope envelope;
  Payload payload;
  // When the message arrived, on this process's clock, as near as the transport knows. A busy rank
  // sees the message later.
  core::Time at{0};
};

class Transport {
 public:
  virtual ~Transport() = default;

  [[nodiscard]] virtual int self() const = 0;
  [[nodiscard]] virtual int processes() const = 0;
  // The processes that this one is connected with, ascending; its neighbours in the tree
  // (runtime/protocol/tree.h) are always among them.
  [[nodiscard]] virtual const std::vector<int>& neighbours() const = 0;

  // Refuses a process that is no neighbour, and parts in memory that the transport cannot access.
  virtual core::Status send(int to, const Envelope& envelope, Payload payload) = 0;

  // Moves bytes and appends what has arrived. If nothing has arrived, waits for up to `wait` or
  // until wake(). It is no failure to append nothing.
  virtual core::Status poll(std::chrono::nanoseconds wait, std::vector<Delivery>& deliveries) = 0;

  // Makes the running poll() or finish() return, or else the next poll(). From any thread.
  virtual void wake() = 0;

  // After this call poll() also returns, and finish() fails, when the descriptor is readable. There
  // is at most one descriptor; the caller owns it. This is for a transport that wraps this one. A
  // transport that cannot watch descriptors refuses the call.
  virtual core::Status watch(int /*descriptor*/) {
    return {core::StatusCode::refused, "this transport cannot watch a descriptor"};
  }

  // The number of bytes that wait here to be sent to process `to`.
  [[nodiscard]] virtual std::size_t queued(int to) const = 0;

  // The time of a neighbour's last sign of life, such as a part of a message, on the monotonic
  // clock. After the neighbour's goodbye it is the present time, since that process may end first.
  [[nodiscard]] virtual core::Time heard(int from) const = 0;

  // The monotonic clock here minus that of process 0, as near as is known.
  [[nodiscard]] virtual core::Time ahead() const = 0;

  // Waits until all neighbours have said goodbye; a peer that closes after its goodbye is no loss.
  // Fails if that takes longer than `limit`, at a wake(), or when another message arrives. The
  // next poll() returns that message, and the caller may try again.
  virtual core::Status finish(std::chrono::nanoseconds limit) = 0;

  // For a child of a fork: closes the connections' descriptors there, since the other processes do
  // not see that this process has ended as long as a child has them. The child may neither use nor
  // destroy the transport.
  virtual void close_in_child() {}

  // Waits until this process's last reports have been sent, or nobody is left to read them.
  virtual void flush(std::chrono::nanoseconds limit) = 0;
};

}  // namespace ripeline::runtime
