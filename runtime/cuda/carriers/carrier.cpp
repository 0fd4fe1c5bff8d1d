#include "runtime/cuda/carriers/carrier.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

#include "runtime/clock.h"

namespace ripeline::runtime::cuda {

using core::Status;

std::string_view name_of(CarrierKind kind) {
  switch (kind) {
    case CarrierKind::staged:
      return "staged";
    case CarrierKind::ipc:
      return "ipc";
    case CarrierKind::nccl:
      return "nccl";
  }
  return "";
}

void Carrier::send(const Envelope& envelope, Payload payload) {
  queued_.push_back({.is_to_peer = true,
                     .envelope = envelope,
                     .payload = std::move(payload),
                     .onto = {},
                     .buffers = {}});
}

Status Carrier::receive_control(protocol::CarrierMessage /*message*/,
                                const Envelope& /*envelope*/) {
  return {core::StatusCode::invalid,
          "it said something that no " + std::string(name_of(kind())) + " carrier says"};
}

void Carrier::expect(Delivery delivery) {
  queued_.push_back({.is_to_peer = false,
                     .envelope = delivery.envelope,
                     .payload = std::move(delivery.payload),
                     .onto = {},
                     .buffers = {}});
}

void Carrier::deliver(Delivery delivery) {
  delivery.from = peer_;
  delivery.at = RankClock::host();
  landed_.push_back(std::move(delivery));
}

Status Carrier::progress(std::vector<Delivery>& deliveries) {
  over_.clear();
  Status status = moves_.progress(over_);
  for (const std::uint64_t number : over_) {
    Status s = landed(std::move(in_flight_.extract(number).mapped()));
    if (status.ok()) status = std::move(s);
  }
  for (auto it = queued_.begin(); it != queued_.end() && status.ok();) {
    cudaStream_t stream = nullptr;
    status = launch(*it, stream);
    if (status.ok() && stream != nullptr) status = moves_.note(stream, next_);
    if (stream == nullptr) {
      ++it;
      continue;
    }
    in_flight_.emplace(next_++, std::move(*it));
    it = queued_.erase(it);
  }
  if (status.ok()) status = look_after();
  std::move(landed_.begin(), landed_.end(), std::back_inserter(deliveries));
  landed_.clear();
  return status;
}

std::size_t Carrier::queued() const {
  std::size_t bytes = 0;
  for (const Message& message : queued_) bytes += message.is_to_peer ? message.payload.size() : 0;
  for (const auto& [number, message] : in_flight_) {
    bytes += message.is_to_peer ? message.payload.size() : 0;
  }
  return bytes;
}

bool Carrier::is_expecting() const {
  const auto comes = [](const Message& message) { return !message.is_to_peer; };
  return !landed_.empty() || std::any_of(queued_.begin(), queued_.end(), comes) ||
         std::any_of(in_flight_.begin(), in_flight_.end(),
                     [&comes](const auto& entry) { return comes(entry.second); });
}

void Carrier::peer_is_gone() {
  std::erase_if(queued_, [](const Message& message) { return message.is_to_peer; });
}

Status Carrier::send_control(const protocol::CarrierMessage& message, const Envelope& envelope) {
  const Envelope with{.signal = signals::Carrier{std::get<signals::Data>(envelope.signal)},
                      .sent = envelope.sent};
  return control_.send(peer_, with, protocol::encode_message(message));
}

}  // namespace ripeline::runtime::cuda
