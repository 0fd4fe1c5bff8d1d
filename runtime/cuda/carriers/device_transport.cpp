#include "runtime/cuda/carriers/device_transport.h"

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

#include "runtime/clock.h"
#include "runtime/network/peers.h"
#include "runtime/watchdog/last_wait.h"

namespace ripeline::runtime::cuda {

using core::Status;
using core::StatusCode;
using core::Time;

namespace {

// About how much a sleep exceeds the asked time; for shorter waits the transport polls instead.
constexpr auto kSleep = std::chrono::microseconds(50);
// How long the thread polls before it yields the processor to other threads, which may then keep it
// for milliseconds.
constexpr auto kLook = std::chrono::microseconds(20);

bool is_on_device(const Bytes& part) { return part.device >= 0; }

}  // namespace

DeviceTransport::DeviceTransport(Transport& inner, network::BufferPool& pinned,
                                 const DeviceMemory& memory, DeviceTransportOptions options)
    : inner_(inner), pinned_(pinned), memory_(memory), options_(std::move(options)) {}

DeviceTransport::~DeviceTransport() {
  const watchdog::LastWait last("messages that the GPU was given");
  // NCCL's operations on the device may wait for a peer that is gone, so they are ended before
  // anything waits for the device.
  for (auto& [process, peer] : peers_) peer.direct = nullptr;
  const bool is_idle = std::all_of(peers_.begin(), peers_.end(),
                                   [](const auto& entry) { return entry.second.is_idle(); });
  if (is_idle) return;
  static_cast<void>(to_host_.sync());
  static_cast<void>(to_device_.sync());
}

Status DeviceTransport::connect() {
  // The meeting's limit does not bound waits for the device; this limit does.
  const watchdog::LastWait last("the start of messages between GPUs",
                                options_.connect_limit + watchdog::LastWait::kLimit);
  CarrierMeeting meeting(inner_, options_.connect_limit, came_, options_.termination);
  CarrierChoice choice(
      meeting, pinned_, memory_,
      {.carrier = options_.carrier,
       .host = options_.host,
       .why_no_nccl = options_.nccl.library == nullptr ? options_.nccl.why_none : "",
       .granule = options_.ipc.granule});
  Status status = make_staged();
  if (status.ok()) status = choice.meet();
  if (status.ok()) status = make_carriers(meeting, choice);
  carriers_ = choice.text();
  if (!status.ok()) meeting.refuse(status);
  note(std::move(status));
  // Handles the messages that arrived early, from processes that connected sooner.
  for (Delivery& delivery : came_) take(std::move(delivery));
  came_.clear();
  return failure_;
}

Status DeviceTransport::make_carriers(CarrierMeeting& meeting, const CarrierChoice& choice) {
  std::map<int, NcclPair> pairs;
  if (options_.carrier == CarrierKind::nccl) {
    if (Status s = connect_by_nccl(meeting, options_.nccl, memory_, pairs); !s.ok()) return s;
  }
  for (auto& [process, peer] : peers_) {
    const CarrierKind kind = choice.of(process);
    if (kind == CarrierKind::nccl) {
      peer.direct = std::make_unique<NcclCarrier>(
          inner_, process, memory_, std::move(pairs.at(process)), options_.nccl.largest_part);
    } else if (kind == CarrierKind::ipc) {
      Stream stream;
      if (Status s = Stream::make(Stream::Priority::highest, stream); !s.ok()) return s;
      peer.direct =
          std::make_unique<IpcCarrier>(inner_, process, memory_, std::move(stream), options_.ipc);
    }
  }
  return {};
}

Status DeviceTransport::make_staged() {
  if (Status s = Stream::make(Stream::Priority::highest, to_host_); !s.ok()) return s;
  if (Status s = Stream::make(Stream::Priority::highest, to_device_); !s.ok()) return s;
  for (const int process : inner_.neighbours()) {
    peers_[process].staged = std::make_unique<StagedCarrier>(inner_, process, pinned_, memory_,
                                                             to_host_.get(), to_device_.get());
  }
  return {};
}

Carrier& DeviceTransport::Peer::carrier_of(const Envelope& envelope, const Payload& payload) const {
  const bool all = std::all_of(payload.parts.begin(), payload.parts.end(), is_on_device);
  return direct && all && envelope.is<signals::Data>() ? *direct : *staged;
}

bool DeviceTransport::Peer::is_expecting() const {
  return staged->is_expecting() || (direct && direct->is_expecting());
}
bool DeviceTransport::Peer::is_busy() const {
  return staged->is_busy() || (direct && direct->is_busy());
}
bool DeviceTransport::Peer::is_idle() const {
  return staged->is_idle() && (!direct || direct->is_idle());
}

Status DeviceTransport::send(int to, const Envelope& envelope, Payload payload) {
  const auto found = peers_.find(to);
  if (found == peers_.end() ||
      std::none_of(payload.parts.begin(), payload.parts.end(), is_on_device)) {
    return inner_.send(to, envelope, std::move(payload));
  }
  if (!failure_.ok()) return failure_;
  if (found->second.is_gone) return {};
  Carrier& carrier = found->second.carrier_of(envelope, payload);
  carrier.send(envelope, std::move(payload));
  note(to, carrier.progress(ready_));
  return failure_;
}

void DeviceTransport::take(Delivery delivery) {
  const auto found = peers_.find(delivery.from);
  if (found == peers_.end() || !failure_.ok()) {
    // Once the device has failed, messages of carriers are dropped, and all else is delivered.
    if (!delivery.envelope.is<signals::Carrier>()) ready_.push_back(std::move(delivery));
    return;
  }
  Peer& peer = found->second;
  const Envelope& envelope = delivery.envelope;
  if (envelope.is<signals::Lost>()) return lose(peer, std::move(delivery));
  if (peer.is_gone) return;
  if (envelope.is<signals::Data>() && !delivery.payload.parts.empty()) {
    return peer.staged->take(std::move(delivery));
  }
  const auto* const carried = std::get_if<signals::Carrier>(&envelope.signal);
  if (carried == nullptr) {
    ready_.push_back(std::move(delivery));
    return;
  }
  protocol::CarrierMessage message;
  Status status = protocol::decode_message(std::move(delivery.payload), message);
  if (const auto* const refusal = std::get_if<protocol::CarrierRefusal>(&message);
      refusal && status.ok()) {
    status = {StatusCode::invalid, refusal->text};
  } else if (status.ok()) {
    Carrier& carrier = peer.direct ? *peer.direct : *peer.staged;
    status = carrier.receive_control(std::move(message),
                                     {.signal = carried->data, .sent = envelope.sent});
  }
  if (status.code() != StatusCode::invalid) return note(std::move(status));
  lose(peer, network::loss_of(delivery.from, status.message(), RankClock::host()));
}

void DeviceTransport::lose(Peer& peer, Delivery loss) {
  if (!peer.is_gone) peer.loss = std::move(loss);  // delivered once
  peer.is_gone = true;
  peer.staged->peer_is_gone();
  if (peer.direct) peer.direct->peer_is_gone();
}

void DeviceTransport::progress() {
  for (auto& [process, peer] : peers_) {
    if (failure_.ok()) note(peer.staged->progress(ready_));
    if (failure_.ok() && peer.direct) note(process, peer.direct->progress(ready_));
    if (!peer.loss || (failure_.ok() && peer.is_expecting())) continue;
    ready_.push_back(*std::exchange(peer.loss, std::nullopt));
  }
}

bool DeviceTransport::is_busy() const {
  return std::any_of(peers_.begin(), peers_.end(),
                     [](const auto& entry) { return entry.second.is_busy(); });
}

Status DeviceTransport::look(std::chrono::nanoseconds wait) {
  came_.clear();
  Status status = inner_.poll(wait, came_);
  for (Delivery& delivery : came_) take(std::move(delivery));
  return status;
}

Status DeviceTransport::poll(std::chrono::nanoseconds wait, std::vector<Delivery>& deliveries) {
  const bool had_failed = !failure_.ok();
  progress();
  const bool is_waiting = failure_.ok() && (is_busy() || wait < kSleep);
  const bool at_once = is_waiting || !ready_.empty() || (!failure_.ok() && !had_failed);
  // The inner transport is polled even after a failure: others may report why the run fails.
  Status status = look(at_once ? std::chrono::nanoseconds(0) : wait);
  if (!came_.empty()) progress();
  if (is_waiting && ready_.empty()) give_way();
  std::move(ready_.begin(), ready_.end(), std::back_inserter(deliveries));
  ready_.clear();
  return failure_.ok() ? status : failure_;
}

void DeviceTransport::give_way() {
  if (RankClock::host() - ran_since_ < kLook) return;
  std::this_thread::yield();
  ran_since_ = RankClock::host();
}

std::size_t DeviceTransport::queued(int to) const {
  const auto found = peers_.find(to);
  std::size_t bytes = inner_.queued(to);
  if (found == peers_.end()) return bytes;
  bytes += found->second.staged->queued();
  return found->second.direct ? bytes + found->second.direct->queued() : bytes;
}

int DeviceTransport::first_open() const {
  const auto open = std::find_if(peers_.begin(), peers_.end(), [](const auto& entry) {
    return entry.second.direct && !entry.second.direct->is_closed();
  });
  return open == peers_.end() ? -1 : open->first;
}

// After the run's last gather nothing is under way, except deliveries that the caller has to take.
Status DeviceTransport::finish(std::chrono::nanoseconds limit) {
  const Time until = RankClock::host() + limit;
  const bool is_idle = std::all_of(peers_.begin(), peers_.end(),
                                   [](const auto& entry) { return entry.second.is_idle(); });
  if (!is_idle || !ready_.empty()) {
    return {StatusCode::timeout, "a message is still being copied, or nobody has taken it"};
  }
  for (auto& [process, peer] : peers_) {
    if (!peer.direct) continue;
    if (Status s = peer.direct->close(); !s.ok()) return s;
  }
  while (first_open() >= 0) {
    const Time left = until - RankClock::host();
    if (Status s = look(std::max(Time{0}, left)); !s.ok()) return s;
    progress();
    if (!failure_.ok()) return failure_;
    if (!ready_.empty()) return {StatusCode::timeout, "a message has come meanwhile"};
    if (came_.empty()) {  // wake() was called, or the limit is over
      return {StatusCode::timeout, "rank " + std::to_string(first_open()) +
                                       " has not closed what it has of rank " +
                                       std::to_string(self())};
    }
  }
  return inner_.finish(std::max(Time{0}, until - RankClock::host()));
}

void DeviceTransport::note(int process, Status status) {
  if (status.code() != StatusCode::lost) return note(std::move(status));
  lose(peers_.at(process), network::loss_of(process, status.message(), RankClock::host()));
}

void DeviceTransport::note(Status status) {
  if (failure_.ok()) failure_ = std::move(status);
}

}  // namespace ripeline::runtime::cuda
