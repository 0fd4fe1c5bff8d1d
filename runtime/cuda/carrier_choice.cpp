#include "runtime/cuda/carrier_choice.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <utility>
#include <variant>

#include "runtime/clock.h"
#include "runtime/cuda/exports.h"
#include "runtime/cuda/imports.h"

namespace ripeline::runtime {

using core::Status;
using core::StatusCode;
using core::Time;

namespace {

std::string rank(int process) { return "rank " + std::to_string(process); }

std::string text_of(const Payload& payload) {
  return {reinterpret_cast<const char*>(payload.head.data()), payload.head.size()};
}

// As the processes to which it is told are to have it.
Status as_told(int from, const Status& why) {
  if (why.code() == StatusCode::refused || why.code() == StatusCode::lost) return why;
  return {StatusCode::lost, rank(from) + " stopped: " + why.message()};
}

std::string named(const std::string& setting) {
  return setting.empty() ? "was told none" : "was told to use " + setting;
}

}  // namespace

Status read_carrier(std::optional<CarrierKind>& carrier) {
  const char* const chosen = std::getenv("RIPELINE_CARRIER");
  carrier = std::nullopt;
  if (chosen == nullptr || *chosen == '\0') return {};
  for (const CarrierKind kind : {CarrierKind::staged, CarrierKind::ipc}) {
    if (chosen == name_of(kind)) carrier = kind;
  }
  if (carrier) return {};
  return {StatusCode::refused,
          "RIPELINE_CARRIER is '" + std::string(chosen) + "'; it may be ipc or staged"};
}

std::string memory_host() {
  std::string host;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> host;
  std::error_code none;
  return host + " " + std::filesystem::read_symlink("/proc/self/ns/ipc", none).string();
}

CarrierChoice::CarrierChoice(Transport& control, Place& pinned, const DeviceMemory& memory,
                             std::optional<CarrierKind> carrier, std::string host,
                             std::size_t granule)
    : control_(control),
      pinned_(pinned),
      memory_(memory),
      carrier_(carrier),
      host_(std::move(host)),
      granule_(granule) {
  for (const int peer : control.neighbours()) peers_[peer];
}

Status CarrierChoice::meet(std::chrono::nanoseconds limit, std::vector<Delivery>& early) {
  const Time until = RankClock::host() + limit;
  CarrierHello hello{.setting = carrier_ ? std::string(name_of(*carrier_)) : "",
                     .host = host_,
                     .handle = std::nullopt,
                     .token = 0,
                     .why = {}};
  if (Status s = offer(hello); !s.ok()) hello.why = s.message();
  Status status;
  for (const auto& [peer, of_peer] : peers_) {
    if (status.ok()) status = say(peer, hello);
  }
  std::vector<Delivery> came;
  while (status.ok() && first_missing() >= 0) {
    const Time left = until - RankClock::host();
    if (left <= Time{0}) {
      status = {StatusCode::timeout, rank(first_missing()) +
                                         " has not said how messages go between its device and "
                                         "that of " +
                                         rank(control_.self())};
      break;
    }
    came.clear();
    status = control_.poll(left, came);
    for (Delivery& delivery : came) {
      Status s = hear(std::move(delivery), early);
      if (status.ok()) status = std::move(s);
    }
  }
  if (status.ok()) status = agree();
  if (status.ok()) return {};
  sample_.leave();  // somebody may have it open
  for (const auto& [peer, of_peer] : peers_) {
    static_cast<void>(
        say(peer, CarrierRefusal{static_cast<std::int32_t>(status.code()), status.message()}));
  }
  return status;
}

Status CarrierChoice::offer(CarrierHello& hello) {
  if (carrier_ == CarrierKind::staged) return {};
  if (Status s = Stream::make(Stream::Priority::highest, stream_); !s.ok()) return s;
  if (Status s = memory_.allocate(granule_, sample_); !s.ok()) return s;
  std::random_device random;
  token_ = std::uint64_t{random()} << 32 | random();
  const Bytes text = pinned_.take(-1, sizeof token_);
  if (text.data == nullptr) return {StatusCode::failed, "there is no pinned memory"};
  std::memcpy(text.data, &token_, sizeof token_);
  if (Status s = copy(sample_.data(), text.data); !s.ok()) return s;
  MemoryHandle handle{};
  if (Status s = export_memory(sample_.data(), handle); !s.ok()) return s;
  hello.handle = handle;
  hello.token = token_;
  return {};
}

Status CarrierChoice::copy(void* onto, const void* from) {
  if (Status s =
          status_of(cudaMemcpyAsync(onto, from, sizeof token_, cudaMemcpyDefault, stream_.get()),
                    "copy some bytes");
      !s.ok()) {
    return s;
  }
  return stream_.sync();
}

Status CarrierChoice::hear(Delivery delivery, std::vector<Delivery>& early) {
  const int from = delivery.from;
  if (delivery.envelope.signal == Signal::lost) {
    return {StatusCode::lost, rank(from) + " was lost (" + text_of(delivery.payload) + ")"};
  }
  CarrierWord word;
  if (delivery.envelope.signal == Signal::carrier) {
    if (Status s = decode_word(delivery.payload, word); !s.ok()) {
      return {StatusCode::lost, rank(from) + " was lost (" + s.message() + ")"};
    }
    if (const auto* const hello = std::get_if<CarrierHello>(&word)) return hear(from, *hello);
    if (const auto* const verdict = std::get_if<CarrierVerdict>(&word)) {
      Peer& peer = peers_[from];
      peer.has_judged = true;
      peer.works_for_it = verdict->works;
      if (peer.why_not.empty()) peer.why_not = verdict->why;
      return {};
    }
    if (const auto* const refusal = std::get_if<CarrierRefusal>(&word)) {
      return as_told(from, {static_cast<StatusCode>(refusal->code), refusal->text});
    }
  }
  early.push_back(std::move(delivery));
  return {};
}

Status CarrierChoice::hear(int from, const CarrierHello& hello) {
  Peer& peer = peers_[from];
  peer.has_said_hello = true;
  const std::string own = carrier_ ? std::string(name_of(*carrier_)) : "";
  if (hello.setting != own) {
    const bool is_first = control_.self() < from;
    const std::string one = rank(control_.self()) + " " + named(own);
    const std::string other = rank(from) + " " + named(hello.setting);
    return {StatusCode::refused, (is_first ? one : other) + ", " + (is_first ? other : one) +
                                     ": RIPELINE_CARRIER must be the same for both"};
  }
  Status status = try_out(hello);
  peer.works = status.ok();
  if (!status.ok()) peer.why_not = status.message();
  return say(from, CarrierVerdict{.works = peer.works, .why = peer.why_not});
}

Status CarrierChoice::try_out(const CarrierHello& hello) {
  if (carrier_ == CarrierKind::staged) return {StatusCode::refused, "as it was told"};
  if (hello.host != host_) return {StatusCode::refused, "on another host"};
  if (!hello.handle) return {StatusCode::refused, hello.why};
  if (stream_.get() == nullptr) return {StatusCode::refused, "there is no stream"};
  OpenedMemory opened;
  if (Status s = OpenedMemory::open(*hello.handle, opened); !s.ok()) return s;
  const Bytes text = pinned_.take(-1, sizeof token_);
  if (text.data == nullptr) return {StatusCode::failed, "there is no pinned memory"};
  if (Status s = copy(text.data, opened.data()); !s.ok()) return s;
  if (std::memcmp(text.data, &hello.token, sizeof token_) == 0) return {};
  return {StatusCode::refused, "it does not see the other's memory"};
}

Status CarrierChoice::agree() const {
  if (carrier_ != CarrierKind::ipc) return {};
  for (const auto& [process, peer] : peers_) {
    if (of(process) == CarrierKind::ipc) continue;
    return {StatusCode::refused, rank(control_.self()) + " and " + rank(process) +
                                     " were told to use ipc, and cannot: " + peer.why_not};
  }
  return {};
}

int CarrierChoice::first_missing() const {
  const auto missing = std::find_if(peers_.begin(), peers_.end(), [](const auto& entry) {
    return !entry.second.has_said_hello || !entry.second.has_judged;
  });
  return missing == peers_.end() ? -1 : missing->first;
}

Status CarrierChoice::say(int to, const CarrierWord& word) {
  Envelope envelope;
  envelope.signal = Signal::carrier;
  return control_.send(to, envelope, encode_word(word));
}

CarrierKind CarrierChoice::of(int peer) const {
  const Peer& both = peers_.at(peer);
  return both.works && both.works_for_it ? CarrierKind::ipc : CarrierKind::staged;
}

std::string CarrierChoice::text() const {
  std::string text;
  for (const auto& [process, peer] : peers_) {
    text +=
        (text.empty() ? "" : ", ") + std::string(name_of(of(process))) + " with " + rank(process);
    if (of(process) == CarrierKind::staged) text += " (" + peer.why_not + ")";
  }
  return text;
}

}  // namespace ripeline::runtime
