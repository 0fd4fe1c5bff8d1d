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

constexpr std::uint32_t kNoPlace = std::numeric_limits<std::uint32_t>::max();

// Takes as many values off the front as one word may have.
template <class Value>
std::vector<Value> next_of(std::vector<Value>& values) {
  const auto end =
      values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size(), process::kMostPlaces));
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
  message.places.resize(parts.size(), kNoPlace);  // places that the message has already are kept
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (message.places[i] != kNoPlace) continue;
    message.places[i] = imports_.take(parts[i].size).value_or(kNoPlace);
    if (message.places[i] == kNoPlace) lacking_.push_back(parts[i].size);
  }
  if (lacking_.size() > lacked) return {};
  stream = stream_.get();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const watchdog::GuardedCall call("cudaMemcpyAsync");
    Status s = status_of(cudaMemcpyAsync(imports_.data(message.places[i]), parts[i].data,
                                         parts[i].size, cudaMemcpyDeviceToDevice, stream),
                         "copy a message to another process's memory");
    if (!s.ok()) return s;
  }
  return {};
}

Status IpcCarrier::landed(Message message) {
  process::Landed word{.parts = {}, .head = std::move(message.payload.head)};
  for (std::size_t i = 0; i < message.places.size(); ++i) {
    word.parts.push_back({.place = message.places[i], .size = message.payload.parts[i].size});
  }
  return is_gone_ ? Status() : say(word, message.envelope);
}

Status IpcCarrier::look_after() {
  process::PlacesGiven given;
  if (Status s = exports_.collect(given); !s.ok()) return s;
  if (Status s = give(std::move(given)); !s.ok()) return s;
  Status status = ask();
  lacking_.clear();
  return status;
}

// Asks for the places that are lacking. It asks again if other sizes are lacking, or if new places
// have come and the same sizes still are, since the new places need not have fitted.
Status IpcCarrier::ask() {
  if (lacking_.empty()) asked_.clear();
  lacking_.resize(std::min(lacking_.size(), process::kMostPlaces));
  if (lacking_.empty() || is_gone_) return {};
  if (lacking_ == asked_ && imports_.seen() == asked_after_) return {};
  process::PlacesAsked word{.seen = imports_.seen(), .sizes = lacking_, .closed = {}};
  for (std::size_t i = 0; i < lacking_.size(); ++i) imports_.close_smallest(word.closed);
  asked_ = lacking_;
  asked_after_ = imports_.seen();
  return say(word);
}

Status IpcCarrier::give(process::PlacesGiven given) {
  while (!given.places.empty() && !is_gone_) {
    if (Status s = say(process::PlacesGiven{next_of(given.places)}); !s.ok()) return s;
  }
  return {};
}

Status IpcCarrier::hear(process::CarrierWord word, const Envelope& envelope) {
  if (auto* const places = std::get_if<process::PlacesGiven>(&word)) return take(*places);
  if (auto* const landed = std::get_if<process::Landed>(&word))
    return take(std::move(*landed), envelope);
  const auto* const asked = std::get_if<process::PlacesAsked>(&word);
  if (asked == nullptr) return Carrier::hear(std::move(word), envelope);
  process::PlacesGiven given;
  // Buffers that are free by now are given first, so that fewer have to be made.
  if (Status s = exports_.collect(given); !s.ok()) return s;
  if (Status s = exports_.answer(*asked, given); !s.ok()) return s;
  return give(std::move(given));
}

Status IpcCarrier::take(const process::PlacesGiven& given) {
  process::PlacesAsked word{.seen = imports_.seen(), .sizes = {}, .closed = {}};
  for (const process::PlacesGiven::Place& place : given.places) {
    if (!is_closing_) {
      if (Status s = imports_.add(place); !s.ok()) return s;
    } else if (place.handle) {  // places without a handle are closed by a word on its way
      word.closed.push_back(place.id);
    }
  }
  return word.closed.empty() || is_gone_ ? Status() : say(word);
}

Status IpcCarrier::take(process::Landed landed, const Envelope& envelope) {
  Delivery arrived{.from = peer(), .envelope = envelope, .payload = {}, .at = {}};
  arrived.payload.head = std::move(landed.head);
  for (const process::Landed::Part& part : landed.parts) {
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
    const process::PlacesAsked word{
        .seen = imports_.seen(), .sizes = {}, .closed = next_of(closed)};
    if (Status s = say(word); !s.ok()) return s;
  }
  return {};
}

}  // namespace ripeline::runtime::cuda
