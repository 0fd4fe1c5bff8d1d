#include "runtime/cuda/carriers/ipc_carrier.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "runtime/watchdog/call_guard.h"

namespace ripeline::runtime::cuda {

using core::Status;
using core::StatusCode;

namespace {

constexpr std::uint32_t kNoBuffer = std::numeric_limits<std::uint32_t>::max();

// Removes and returns as many values from the front as one message may have.
template <class Value>
std::vector<Value> next_of(std::vector<Value>& values) {
  const auto end =
      values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size(), protocol::kMostBuffers));
  std::vector<Value> next(values.begin(), end);
  values.erase(values.begin(), end);
  return next;
}

}  // namespace

IpcCarrier::IpcCarrier(Transport& control, int peer, const DeviceMemory& memory, Stream stream,
                       const IpcLimits& limits)
    : Carrier(control, peer),
      stream_(std::move(stream)),
      exports_(memory, limits.granule, limits.largest_part) {}

// Waits for copies under way, so that nothing writes to memory that is then closed.
IpcCarrier::~IpcCarrier() {
  if (!is_idle()) static_cast<void>(stream_.sync());
}

Status IpcCarrier::launch(Message& message, cudaStream_t& stream) {
  const std::vector<Bytes>& parts = message.payload.parts;
  const std::size_t lacked = lacking_.size();
  message.buffers.resize(parts.size(), kNoBuffer);  // buffers that the message has already are kept
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (message.buffers[i] != kNoBuffer) continue;
    message.buffers[i] = imports_.take(parts[i].size).value_or(kNoBuffer);
    if (message.buffers[i] == kNoBuffer) lacking_.push_back(parts[i].size);
  }
  if (lacking_.size() > lacked) return {};
  stream = stream_.get();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const watchdog::GuardedCall call("cudaMemcpyAsync");
    Status s = status_of(cudaMemcpyAsync(imports_.data(message.buffers[i]), parts[i].data,
                                         parts[i].size, cudaMemcpyDeviceToDevice, stream),
                         "copy a message to another process's memory");
    if (!s.ok()) return s;
  }
  return {};
}

Status IpcCarrier::landed(Message message) {
  protocol::Landed report{.parts = {}, .head = std::move(message.payload.head)};
  for (std::size_t i = 0; i < message.buffers.size(); ++i) {
    report.parts.push_back({.buffer = message.buffers[i], .size = message.payload.parts[i].size});
  }
  return is_gone_ ? Status() : send_control(report, message.envelope);
}

Status IpcCarrier::look_after() {
  protocol::BuffersGiven given;
  if (Status s = exports_.collect(given); !s.ok()) return s;
  if (Status s = give(std::move(given)); !s.ok()) return s;
  Status status = ask();
  lacking_.clear();
  return status;
}

// Asks for the buffers that are lacking. It asks again if the lacking sizes have changed, or if new
// buffers have come but the same sizes are still lacking, since the new ones may be too small.
Status IpcCarrier::ask() {
  if (lacking_.empty()) asked_.clear();
  lacking_.resize(std::min(lacking_.size(), protocol::kMostBuffers));
  if (lacking_.empty() || is_gone_) return {};
  if (lacking_ == asked_ && imports_.seen() == asked_after_) return {};
  protocol::BuffersAsked asked{.seen = imports_.seen(), .sizes = lacking_, .closed = {}};
  for (std::size_t i = 0; i < lacking_.size(); ++i) imports_.close_smallest(asked.closed);
  asked_ = lacking_;
  asked_after_ = imports_.seen();
  return send_control(asked);
}

Status IpcCarrier::give(protocol::BuffersGiven given) {
  while (!given.buffers.empty() && !is_gone_) {
    if (Status s = send_control(protocol::BuffersGiven{next_of(given.buffers)}); !s.ok()) return s;
  }
  return {};
}

Status IpcCarrier::receive_control(protocol::CarrierMessage message, const Envelope& envelope) {
  if (auto* const given = std::get_if<protocol::BuffersGiven>(&message)) return take(*given);
  if (auto* const landed = std::get_if<protocol::Landed>(&message))
    return take(std::move(*landed), envelope);
  const auto* const asked = std::get_if<protocol::BuffersAsked>(&message);
  if (asked == nullptr) return Carrier::receive_control(std::move(message), envelope);
  protocol::BuffersGiven given;
  // Buffers that are free again are given first, so that fewer new ones have to be made.
  if (Status s = exports_.collect(given); !s.ok()) return s;
  if (Status s = exports_.answer(*asked, given); !s.ok()) return s;
  return give(std::move(given));
}

Status IpcCarrier::take(const protocol::BuffersGiven& given) {
  protocol::BuffersAsked asked{.seen = imports_.seen(), .sizes = {}, .closed = {}};
  for (const protocol::BuffersGiven::Buffer& buffer : given.buffers) {
    if (!is_closing_) {
      if (Status s = imports_.add(buffer); !s.ok()) return s;
    } else if (buffer.handle) {  // one without a handle is closed by a message on its way
      asked.closed.push_back(buffer.id);
    }
  }
  return asked.closed.empty() || is_gone_ ? Status() : send_control(asked);
}

Status IpcCarrier::take(protocol::Landed landed, const Envelope& envelope) {
  Delivery arrived{.from = peer(), .envelope = envelope, .payload = {}, .at = {}};
  arrived.payload.head = std::move(landed.head);
  for (const protocol::Landed::Part& part : landed.parts) {
    if (Status s = exports_.landed(part, arrived.payload.parts.emplace_back()); !s.ok()) return s;
  }
  deliver(std::move(arrived));
  return {};
}

void IpcCarrier::peer_is_gone() {
  Carrier::peer_is_gone();
  is_gone_ = true;
}

Status IpcCarrier::close() {
  is_closing_ = true;
  exports_.stop();
  std::vector<std::uint32_t> closed;
  imports_.close_all(closed);
  while (!closed.empty() && !is_gone_) {
    const protocol::BuffersAsked asked{
        .seen = imports_.seen(), .sizes = {}, .closed = next_of(closed)};
    if (Status s = send_control(asked); !s.ok()) return s;
  }
  return {};
}

}  // namespace ripeline::runtime::cuda
