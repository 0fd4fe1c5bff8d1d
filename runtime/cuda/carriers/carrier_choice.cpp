#include "runtime/cuda/carriers/carrier_choice.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>
#include <variant>

#include "runtime/cuda/carriers/exports.h"
#include "runtime/cuda/carriers/imports.h"
#include "runtime/network/system_name.h"
#include "runtime/watchdog/call_guard.h"

namespace ripeline::runtime::cuda {

using core::Status;
using core::StatusCode;

namespace {

constexpr auto kAlways = std::chrono::nanoseconds::max();

// The carrier's name in a CarrierHello; empty if no carrier is required.
std::string set(std::optional<CarrierKind> carrier) {
  return carrier ? std::string(name_of(*carrier)) : "";
}

std::string named(const std::string& setting) {
  return setting.empty() ? "was told none" : "was told to use " + setting;
}

}  // namespace

Status read_carrier(std::optional<CarrierKind>& carrier) {
  const char* const chosen = std::getenv("RIPELINE_CARRIER");
  carrier = std::nullopt;
  if (chosen == nullptr || *chosen == '\0') return {};
  for (const CarrierKind kind : {CarrierKind::staged, CarrierKind::ipc, CarrierKind::nccl}) {
    if (chosen == name_of(kind)) carrier = kind;
  }
  if (carrier) return {};
  return {StatusCode::refused,
          "RIPELINE_CARRIER is '" + std::string(chosen) + "'; it may be ipc, nccl or staged"};
}

std::string memory_host() {
  std::error_code none;
  return network::system_name() + " " +
         std::filesystem::read_symlink("/proc/self/ns/ipc", none).string();
}

CarrierChoice::CarrierChoice(CarrierMeeting& meeting, network::BufferPool& pinned,
                             const DeviceMemory& memory, End end)
    : meeting_(meeting), pinned_(pinned), memory_(memory), end_(std::move(end)) {
  for (const int peer : meeting.neighbours()) peers_[peer];
}

Status CarrierChoice::meet() {
  protocol::CarrierHello hello{
      .setting = set(end_.carrier), .host = end_.host, .handle = {}, .token = 0, .why = {}};
  if (Status s = offer(hello); !s.ok()) hello.why = s.message();
  Status status = meeting_.send_to_all(hello);
  std::vector<CarrierMeeting::Message> messages;
  while (status.ok() && first_missing() >= 0) {
    messages.clear();
    status = meeting_.next(kAlways, messages);
    for (CarrierMeeting::Message& message : messages) {
      Status s = receive(std::move(message));
      if (status.ok()) status = std::move(s);
    }
  }
  if (status.code() == StatusCode::timeout) {
    status = {StatusCode::timeout, rank_text(first_missing()) +
                                       " has not said how messages go between its device and "
                                       "that of " +
                                       rank_text(meeting_.self())};
  }
  if (status.ok()) status = agree();
  if (!status.ok()) sample_.leave();  // a neighbour may have it open
  return status;
}

Status CarrierChoice::offer(protocol::CarrierHello& hello) {
  if (end_.carrier == CarrierKind::staged) return {};
  if (end_.carrier == CarrierKind::nccl) {
    hello.why = end_.why_no_nccl;
    return {};
  }
  if (Status s = Stream::make(Stream::Priority::highest, stream_); !s.ok()) return s;
  if (Status s = memory_.allocate(end_.granule, sample_); !s.ok()) return s;
  std::random_device random;
  token_ = std::uint64_t{random()} << 32 | random();
  const Bytes text = pinned_.take(-1, sizeof token_);
  if (text.data == nullptr) return {StatusCode::failed, "there is no pinned memory"};
  std::memcpy(text.data, &token_, sizeof token_);
  if (Status s = copy(sample_.data(), text.data); !s.ok()) return s;
  protocol::MemoryHandle handle{};
  if (Status s = export_memory(sample_.data(), handle); !s.ok()) return s;
  hello.handle = handle;
  hello.token = token_;
  return {};
}

Status CarrierChoice::copy(void* onto, const void* from) {
  const watchdog::GuardedCall call("cudaMemcpyAsync");
  if (Status s =
          status_of(cudaMemcpyAsync(onto, from, sizeof token_, cudaMemcpyDefault, stream_.get()),
                    "copy some bytes");
      !s.ok()) {
    return s;
  }
  return stream_.sync();
}

Status CarrierChoice::receive(CarrierMeeting::Message message) {
  if (const auto* const hello = std::get_if<protocol::CarrierHello>(&message.content)) {
    return receive(message.from, *hello);
  }
  if (const auto* const verdict = std::get_if<protocol::CarrierVerdict>(&message.content)) {
    Peer& peer = peers_[message.from];
    peer.has_judged = true;
    peer.works_for_it = verdict->works;
    if (peer.why_not.empty()) peer.why_not = verdict->why;
    return {};
  }
  meeting_.keep(std::move(message));
  return {};
}

Status CarrierChoice::receive(int from, const protocol::CarrierHello& hello) {
  Peer& peer = peers_[from];
  peer.has_said_hello = true;
  const std::string own = set(end_.carrier);
  if (hello.setting != own) {
    const bool is_first = meeting_.self() < from;
    const std::string one = rank_text(meeting_.self()) + " " + named(own);
    const std::string other = rank_text(from) + " " + named(hello.setting);
    return {StatusCode::refused, (is_first ? one : other) + ", " + (is_first ? other : one) +
                                     ": RIPELINE_CARRIER must be the same for both"};
  }
  Status status = try_out(from, hello);
  peer.works = status.ok();
  if (!status.ok()) peer.why_not = status.message();
  return meeting_.send(from, protocol::CarrierVerdict{.works = peer.works, .why = peer.why_not});
}

Status CarrierChoice::has_nccl(int process, const std::string& why_not) const {
  if (why_not.empty()) return {};
  return {StatusCode::refused, rank_text(process) + " has no NCCL: " + why_not};
}

Status CarrierChoice::try_out(int from, const protocol::CarrierHello& hello) {
  if (end_.carrier == CarrierKind::staged) return {StatusCode::refused, "as it was told"};
  if (end_.carrier != CarrierKind::nccl) return read_from(hello);
  if (Status s = has_nccl(meeting_.self(), end_.why_no_nccl); !s.ok()) return s;
  return has_nccl(from, hello.why);
}

Status CarrierChoice::read_from(const protocol::CarrierHello& hello) {
  if (hello.host != end_.host) return {StatusCode::refused, "on another host"};
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
  if (!end_.carrier || end_.carrier == CarrierKind::staged) return {};
  for (const auto& [process, peer] : peers_) {
    if (of(process) == end_.carrier) continue;
    return {StatusCode::refused, rank_text(meeting_.self()) + " and " + rank_text(process) +
                                     " were told to use " + set(end_.carrier) +
                                     ", and cannot: " + peer.why_not};
  }
  return {};
}

int CarrierChoice::first_missing() const {
  const auto missing = std::find_if(peers_.begin(), peers_.end(), [](const auto& entry) {
    return !entry.second.has_said_hello || !entry.second.has_judged;
  });
  return missing == peers_.end() ? -1 : missing->first;
}

CarrierKind CarrierChoice::of(int peer) const {
  const Peer& both = peers_.at(peer);
  if (!both.works || !both.works_for_it) return CarrierKind::staged;
  return end_.carrier.value_or(CarrierKind::ipc);
}

std::string CarrierChoice::text() const {
  std::string text;
  for (const auto& [process, peer] : peers_) {
    text += (text.empty() ? "" : ", ") + std::string(name_of(of(process))) + " with " +
            rank_text(process);
    if (of(process) == CarrierKind::staged) text += " (" + peer.why_not + ")";
  }
  // Unlike other carriers, `nccl` makes devices wait for each other.
  if (end_.carrier == CarrierKind::nccl) {
    text += "; assumed: kernels of NCCL of different communicators run side by side on a device";
  }
  return text;
}

}  // namespace ripeline::runtime::cuda
