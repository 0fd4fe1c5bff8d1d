#include "runtime/cuda/staged_transport.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "runtime/clock.h"

namespace ripeline::runtime {

using core::Status;
using core::StatusCode;
using core::Time;

namespace {

void* take_pinned(std::size_t size) {
  void* data = nullptr;
  return cudaHostAlloc(&data, size, cudaHostAllocPortable) == cudaSuccess ? data : nullptr;
}

void free_pinned(void* data) { cudaFreeHost(data); }

Status copy(const Bytes& from, const Bytes& onto, cudaMemcpyKind kind, cudaStream_t stream) {
  return status_of(cudaMemcpyAsync(onto.data, from.data, from.size, kind, stream),
                   kind == cudaMemcpyDeviceToHost ? "copy a message from the device"
                                                  : "copy a message to the device");
}

bool is_on_device(const Bytes& part) { return part.device >= 0; }

}  // namespace

HostPlace make_pinned_place() { return HostPlace({.take = take_pinned, .give = free_pinned}); }

StagedTransport::StagedTransport(Transport& inner, Place& pinned, DeviceMemory& memory,
                                 cudaStream_t to_host, cudaStream_t to_device)
    : inner_(inner), pinned_(pinned), memory_(memory), to_host_(to_host), to_device_(to_device) {}

Status StagedTransport::send(int to, const Envelope& envelope, Payload payload) {
  if (std::none_of(payload.parts.begin(), payload.parts.end(), is_on_device)) {
    return inner_.send(to, envelope, std::move(payload));
  }
  Leaving message{.to = to, .envelope = envelope, .from = std::move(payload), .onto = {}};
  if (Status s = copy_to_host(message); !s.ok()) return s;
  if (Status s = copies_.note(to_host_, next_); !s.ok()) return s;
  leaving_.emplace(next_++, std::move(message));
  return {};
}

Status StagedTransport::copy_to_host(Leaving& message) {
  message.onto.head = message.from.head;
  for (const Bytes& part : message.from.parts) {
    Bytes& onto = message.onto.parts.emplace_back(part);
    if (!is_on_device(part)) continue;
    onto = pinned_.take(message.envelope.message.edge, part.size);
    if (onto.data == nullptr) {
      return {StatusCode::failed,
              "no pinned memory for a message of " + std::to_string(part.size) + " bytes"};
    }
    if (Status s = copy(part, onto, cudaMemcpyDeviceToHost, to_host_); !s.ok()) return s;
  }
  return {};
}

Status StagedTransport::take(Delivery delivery) {
  if (delivery.envelope.signal == Signal::lost && has_arriving(delivery.from)) {
    lost_.push_back(std::move(delivery));
    return {};
  }
  if (delivery.envelope.signal != Signal::data || delivery.payload.parts.empty()) {
    ready_.push_back(std::move(delivery));
    return {};
  }
  Arriving message{.delivery = std::move(delivery), .parts = {}};
  if (Status s = copy_to_device(message); !s.ok()) return s;
  if (Status s = copies_.note(to_device_, next_); !s.ok()) return s;
  arriving_.emplace(next_++, std::move(message));
  return {};
}

Status StagedTransport::copy_to_device(Arriving& message) {
  for (const Bytes& part : message.delivery.payload.parts) {
    Bytes& onto = message.parts.emplace_back();
    if (Status s = memory_.take(part.size, to_device_, onto); !s.ok()) return s;
    if (Status s = copy(part, onto, cudaMemcpyHostToDevice, to_device_); !s.ok()) return s;
  }
  return {};
}

bool StagedTransport::has_arriving(int from) const {
  return std::any_of(arriving_.begin(), arriving_.end(),
                     [from](const auto& entry) { return entry.second.delivery.from == from; });
}

Status StagedTransport::progress() {
  over_.clear();
  if (Status s = copies_.progress(over_); !s.ok()) return s;
  for (const std::uint64_t number : over_) {
    if (auto left = leaving_.extract(number); !left.empty()) {
      Leaving& message = left.mapped();
      Status s = inner_.send(message.to, message.envelope, std::move(message.onto));
      if (!s.ok()) return s;
      continue;
    }
    auto arrived = arriving_.extract(number);
    Arriving& message = arrived.mapped();
    message.delivery.payload.parts = std::move(message.parts);
    message.delivery.at = RankClock::host();
    ready_.push_back(std::move(message.delivery));
  }
  const auto told = std::partition(lost_.begin(), lost_.end(), [this](const Delivery& delivery) {
    return has_arriving(delivery.from);
  });
  std::move(told, lost_.end(), std::back_inserter(ready_));
  lost_.erase(told, lost_.end());
  return {};
}

Status StagedTransport::poll(std::chrono::nanoseconds wait, std::vector<Delivery>& deliveries) {
  if (Status s = progress(); !s.ok()) return s;
  came_.clear();
  const bool at_once = !ready_.empty() || !copies_.empty();
  Status status = inner_.poll(at_once ? std::chrono::nanoseconds(0) : wait, came_);
  for (Delivery& delivery : came_) {
    if (Status s = take(std::move(delivery)); !s.ok()) return s;
  }
  std::move(ready_.begin(), ready_.end(), std::back_inserter(deliveries));
  ready_.clear();
  return status;
}

std::size_t StagedTransport::queued(int to) const {
  std::size_t bytes = inner_.queued(to);
  for (const auto& [number, message] : leaving_) {
    if (message.to == to) bytes += message.from.size();
  }
  return bytes;
}

// Until nothing is left here, or `last`.
Status StagedTransport::send_all(Time last) {
  while (!leaving_.empty()) {
    if (Status s = progress(); !s.ok()) return s;
    if (RankClock::host() >= last) {
      return {StatusCode::timeout,
              "the device has not copied all messages that are to be sent to the host"};
    }
  }
  return {};
}

Status StagedTransport::finish(std::chrono::nanoseconds limit) {
  const Time last = RankClock::host() + limit;
  if (Status s = send_all(last); !s.ok()) return s;
  if (!arriving_.empty() || !ready_.empty()) {
    return {StatusCode::timeout, "a message has come, and nobody has taken it"};
  }
  return inner_.finish(std::max(Time{0}, last - RankClock::host()));
}

void StagedTransport::flush(std::chrono::nanoseconds limit) {
  const Time last = RankClock::host() + limit;
  if (!send_all(last).ok()) return;
  inner_.flush(std::max(Time{0}, last - RankClock::host()));
}

}  // namespace ripeline::runtime
