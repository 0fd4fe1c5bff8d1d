// Frames: what goes over a connection of network/socket. docs/formats.md has the layout.
//
// A frame is a header of 56 bytes, the sizes of the payload's parts, its head and its parts. All
// numbers are little-endian. Plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "core/status.h"
#include "runtime/network/run_clock.h"
#include "runtime/transport.h"

namespace ripeline::runtime::network {

enum class FrameKind : std::uint16_t {
  hello = 1,  // first in both directions; edge is the sender's rank, microbatch the number of
              // ranks, ordinal the channel
  data,       // a message of a task
  gather,     // a part of a gather (runtime/process/gather.h)
  goodbye,    // nothing follows; the sender waits for the others
  abandon,    // the sender does not join the run; step is the status code, the head its text
  announce,   // a message waits to be granted; no payload
  grant,      // a message may leave, or its slot is free; no payload
  notice,     // between hints that wait (core/notice.h); 16 bytes
  heartbeat,  // the sender is alive, and its clock (runtime/network/run_clock.h): step is the
              // echo; no payload
  report,     // the run fails: what a rank says of itself (runtime/process/report.h)
  begun,      // the sender has begun the step; microbatch is how many it has; no payload
  ballot,     // a vote among the members of a rank (runtime/process/ballot_codec.h)
  ready,      // to the parent in the tree: the sender's subtree is connected; to a child: all are.
              // With its clock, as a heartbeat
  carrier,    // a word between carriers of devices (runtime/process/carrier_words.h)
};

// The contents of the frames between transports, by their kinds.
struct Hello {
  std::int32_t rank = 0;  // the sender's
  std::int32_t ranks = 0;
  std::int32_t channel = 0;  // a Channel
  bool operator==(const Hello&) const = default;
};
struct Goodbye {
  bool operator==(const Goodbye&) const = default;
};
struct Abandon {
  core::StatusCode code = core::StatusCode::invalid;
  bool operator==(const Abandon&) const = default;
};
struct Heartbeat {
  Beat beat = {};
  bool operator==(const Heartbeat&) const = default;
};
struct Ready {
  Beat beat = {};
  bool operator==(const Ready&) const = default;
};

// All other frames carry an envelope.
using FrameContent = std::variant<Envelope, Hello, Goodbye, Abandon, Heartbeat, Ready>;

struct Frame {
  std::uint64_t token = 0;  // the run's
  std::uint64_t program_hash = 0;
  FrameContent content = {};
  Payload payload = {};
};

[[nodiscard]] FrameKind kind_of(const FrameContent& content);
// The edge of the message that the content is of; -1: it is of none.
[[nodiscard]] core::EdgeId edge_of(const FrameContent& content);

// Two connections lead from rank to rank, so that what is short never waits behind what is long.
enum class Channel : std::uint8_t {
  data,     // data and gathers
  control,  // all the others
};
inline constexpr std::array kEachChannel = {Channel::data, Channel::control};
inline constexpr int kChannels = static_cast<int>(kEachChannel.size());
[[nodiscard]] Channel channel_of(FrameKind kind);

inline constexpr std::uint32_t kFrameMagic = 0x4c504952;  // "RIPL"
inline constexpr std::uint16_t kFrameVersion = 8;
inline constexpr std::size_t kHeaderBytes = 56;
using Header = std::array<std::byte, kHeaderBytes>;

[[nodiscard]] Header encode_header(const Frame& frame);

// The first bytes of every version: a frame is refused by them before the rest is waited for.
inline constexpr std::size_t kPrefixBytes = 6;
core::Status check_prefix(std::span<const std::byte, kPrefixBytes> prefix);

// The sizes of the payload that follows a header.
struct PayloadShape {
  std::size_t head = 0;   // bytes, at most kLargestHead
  std::size_t parts = 0;  // at most kMostParts
};
// Fills all of `frame` but the payload. Refuses what is no header of this version.
core::Status decode_header(const Header& header, Frame& frame, PayloadShape& shape);

// The sizes of the parts, between header and head.
[[nodiscard]] std::vector<std::byte> encode_sizes(const Payload& payload);
[[nodiscard]] std::vector<std::uint64_t> decode_sizes(std::span<const std::byte> bytes);

// The payload of a rank that does not join for `why`, and the status that its peers make of that
// and of the code: a loss is passed on as it is, so that it names the cause and not the messenger.
[[nodiscard]] Payload abandon_text(const core::Status& why);
[[nodiscard]] core::Status abandon_status(int rank, core::StatusCode code, const Payload& text);
[[nodiscard]] core::Status told_status(int rank, const core::Status& why);

}  // namespace ripeline::runtime::network
