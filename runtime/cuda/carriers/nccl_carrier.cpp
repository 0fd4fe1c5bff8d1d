#include "runtime/cuda/carriers/nccl_carrier.h"

#include <string>
#include <utility>
#include <variant>

#include "runtime/watchdog/call_guard.h"
#include "runtime/watchdog/last_wait.h"

namespace ripeline::runtime::cuda {

using core::Status;
using core::StatusCode;

namespace {

// The most by which an announcement that has overtaken others may exceed the next expected number.
constexpr std::uint64_t kMostAhead = 1024;

Status wrong(const std::string& what) { return {StatusCode::invalid, "the sender " + what}; }

std::string message_text(std::uint64_t number) { return "message " + std::to_string(number); }

std::vector<NcclPart> operation_of(const std::vector<Bytes>& parts) {
  std::vector<NcclPart> operation;
  for (const Bytes& part : parts) {
    if (part.size > 0) operation.push_back({.data = part.data, .bytes = part.size});
  }
  return operation;
}

}  // namespace

NcclCarrier::NcclCarrier(Transport& control, int peer, const DeviceMemory& memory, NcclPair pair,
                         std::size_t largest_part)
    : Carrier(control, peer),
      memory_(memory),
      largest_part_(largest_part),
      out_{.nccl = std::move(pair.out), .end = {}},
      in_{.nccl = std::move(pair.in), .end = {}} {}

// Aborts first, since operations that wait for a lost peer end only by an abort.
NcclCarrier::~NcclCarrier() {
  abort();
  if (is_idle()) return;
  static_cast<void>(out_.nccl.stream.sync());
  static_cast<void>(in_.nccl.stream.sync());
}

void NcclCarrier::abort() {
  const watchdog::LastWait last("messages by NCCL that are aborted");
  out_.nccl.comm->abort();
  in_.nccl.comm->abort();
}

Status NcclCarrier::launch(Message& message, cudaStream_t& stream) {
  Way& way = message.is_to_peer ? out_ : in_;
  if (way.end.under_way()) return {};
  if (Status s = message.is_to_peer ? send(message) : receive(message); !s.ok()) return s;
  stream = way.nccl.stream.get();
  return {};
}

// Launches the send before it announces the message: a receive whose send is not launched would
// also wait for whatever this process does before that launch.
Status NcclCarrier::send(const Message& message) {
  if (Status s = out_.end.ready(out_.end.launched()); !s.ok()) return s;
  const std::uint64_t number = out_.end.launch().value();
  const std::vector<NcclPart> operation = operation_of(message.payload.parts);
  if (!operation.empty()) {
    const watchdog::GuardedCall call("ncclSend");
    Status s = out_.nccl.comm->send_parts(operation, 1, out_.nccl.stream.get());
    if (!s.ok()) return s;
  }
  protocol::Launched announcement{.number = number, .sizes = {}, .head = message.payload.head};
  for (const Bytes& part : message.payload.parts) announcement.sizes.push_back(part.size);
  return send_control(announcement, message.envelope);
}

Status NcclCarrier::receive(Message& message) {
  const cudaStream_t stream = in_.nccl.stream.get();
  for (Bytes& part : message.payload.parts) {
    if (Status s = memory_.take(part.size, stream, part); !s.ok()) return s;
  }
  static_cast<void>(in_.end.launch());  // succeeds: nothing is under way, and messages are in order
  const std::vector<NcclPart> operation = operation_of(message.payload.parts);
  const watchdog::GuardedCall call("ncclRecv");
  return operation.empty() ? Status() : in_.nccl.comm->receive_parts(operation, 0, stream);
}

Status NcclCarrier::landed(Message message) {
  if (Status s = (message.is_to_peer ? out_ : in_).end.ended(); !s.ok()) return s;
  // A message from a peer that is gone may be incomplete, since its receive may have been aborted.
  if (message.is_to_peer || is_gone_) return {};
  deliver({.envelope = message.envelope, .payload = std::move(message.payload)});
  return {};
}

Status NcclCarrier::look_after() {
  for (const Way* way : {&out_, &in_}) {
    if (is_gone_ || !way->end.under_way()) continue;
    const watchdog::GuardedCall call("ncclCommGetAsyncError");
    if (Status s = way->nccl.comm->health(); !s.ok()) {
      return {s.code(), "messages by NCCL stopped: " + s.message()};
    }
  }
  return {};
}

Status NcclCarrier::receive_control(protocol::CarrierMessage message, const Envelope& envelope) {
  if (auto* const launched = std::get_if<protocol::Launched>(&message)) {
    return take(std::move(*launched), envelope);
  }
  if (const auto* const all = std::get_if<protocol::AllLaunched>(&message)) return take(*all);
  return Carrier::receive_control(std::move(message), envelope);
}

Status NcclCarrier::take(protocol::Launched launched, const Envelope& envelope) {
  const std::uint64_t number = launched.number;
  if (number < announced_ || ahead_.contains(number)) {
    return wrong("announced " + message_text(number) + " a second time");
  }
  if (number - announced_ > kMostAhead) {
    return wrong("announced " + message_text(number) + ", and not yet " + message_text(announced_));
  }
  if (all_ && number >= *all_) {
    return wrong("announced " + message_text(number) + " after all of its " +
                 std::to_string(*all_));
  }
  Delivery coming{.from = peer(), .envelope = envelope, .payload = {}, .at = {}};
  coming.payload.head = std::move(launched.head);
  for (const std::uint64_t size : launched.sizes) {
    if (size > largest_part_) {
      return wrong("announced a part of " + std::to_string(size) + " bytes; at most " +
                   std::to_string(largest_part_) + " are allowed");
    }
    coming.payload.parts.push_back({.data = nullptr, .size = size, .device = memory_.device()});
  }
  ahead_.emplace(number, std::move(coming));
  for (auto next = ahead_.find(announced_); next != ahead_.end(); next = ahead_.find(announced_)) {
    if (Status s = in_.end.ready(announced_++); !s.ok()) return s;
    expect(std::move(next->second));
    ahead_.erase(next);
  }
  return {};
}

Status NcclCarrier::take(const protocol::AllLaunched& all) {
  const std::uint64_t known = ahead_.empty() ? announced_ : ahead_.rbegin()->first + 1;
  if (all_ || all.count < known) {
    return wrong("says that it sent " + std::to_string(all.count) + " messages, and " +
                 std::to_string(all_.value_or(known)) + " are known");
  }
  all_ = all.count;
  return {};
}

void NcclCarrier::peer_is_gone() {
  Carrier::peer_is_gone();
  if (is_gone_) return;
  is_gone_ = true;
  abort();
  forget_queued();
  ahead_.clear();
}

Status NcclCarrier::close() {
  if (is_gone_ || std::exchange(has_closed_, true)) return {};
  return send_control(protocol::AllLaunched{.count = out_.end.launched()});
}

bool NcclCarrier::is_closed() const {
  return is_gone_ || (all_ && *all_ == in_.end.launched() && !in_.end.under_way());
}

}  // namespace ripeline::runtime::cuda
