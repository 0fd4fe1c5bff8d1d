// Frames: the units that connections of network/socket carry. docs/formats.md has the layout.
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
  hello = 1,  // the first frame in both directions; edge is the sender's rank,
              // microbatch the number of ranks, ordinal the connection's role
  data,       // a message of a task
  gather,     // a part of a gather (runtime/protocol/gather.h)
  goodbye,    // the last frame of the sender, which waits for the goodbyes of the others
  abandon,    // the sender does not join the run; step is the status code, the head the text
  announce,   // a message waits to be granted; no payload
  grant,      // an announced message may leave, or a sent one's slot is free; no payload
  notice,     // a report between hints that wait (core/notice.h); 16 bytes
  heartbeat,  // the sender is alive; carries its clock (runtime/network/run_clock.h), and as
              // step the echo; no payload
  report,     // the run fails; the report of a rank on itself (runtime/protocol/report.h)
  begun,      // the sender has begun the step; microbatch is how many the step has; no payload
  ballot,     // a vote among the members of a rank (runtime/protocol/ballot_codec.h)
  ready,      // to the parent in the tree: the sender's subtree is connected; to a child: all
              // ranks are; carries the sender's clock, as a heartbeat does
  carrier,    // between the two ends of a carrier (runtime/protocol/carrier_messages.h)
};

// The contents of the frames between transports, by their kinds.
struct Hello {
  std::int32_t rank = 0;  // the sender's
  std::int32_t ranks = 0;
  std::int32_t role = 0;  // a ConnectionRole
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

// The content of a frame. A frame of a kind without a struct of its own carries an Envelope.
using FrameContent = std::variant<Envelope, Hello, Goodbye, Abandon, Heartbeat, Ready>;

struct Frame {
  std::uint64_t token = 0;  // the run's
  std::uint64_t program_hash = 0;
  FrameContent content = {};
  Payload payload = {};
};

[[nodiscard]] FrameKind kind_of(const FrameContent& content);
// The edge of the message that the content concerns; -1 if it concerns no message.
[[nodiscard]] core::EdgeId edge_of(const FrameContent& content);

// Each pair of neighbours has two connections, so that short frames never wait behind long ones.
enum class ConnectionRole : std::uint8_t {
  data,     // data and gathers
  control,  // all other frames
};
inline constexpr std::array kEachRole = {ConnectionRole::data, ConnectionRole::control};
inline constexpr int kConnectionsPerPeer = static_cast<int>(kEachRole.size());
[[nodiscard]] ConnectionRole role_of(FrameKind kind);

inline constexpr std::uint32_t kFrameMagic = 0x4c504952;  // "RIPL"
inline constexpr std::uint16_t kFrameVersion = 8;
inline constexpr std::size_t kHeaderBytes = 56;
using Header = std::array<std::byte, kHeaderBytes>;

[[nodiscard]] Header encode_header(const Frame& frame);

// The first bytes in every version; by them a wrong frame is refused before its other bytes arrive.
inline constexpr std::size_t kPrefixBytes = 6;
core::Status check_prefix(std::span<const std::byte, kPrefixBytes> prefix);

// The sizes of the payload that follows a header.
struct PayloadShape {
  std::size_t head = 0;   // bytes, at most kLargestHead
  std::size_t parts = 0;  // at most kMostParts
};
// Fills all of `frame` but the payload. Refuses a header that is not one of this version.
core::Status decode_header(const Header& header, Frame& frame, PayloadShape& shape);

// The sizes of the parts, which are sent between header and head.
[[nodiscard]] std::vector<std::byte> encode_sizes(const Payload& payload);
[[nodiscard]] std::vector<std::uint64_t> decode_sizes(std::span<const std::byte> bytes);

// The payload with which a rank reports why it does not join, and the status of a peer that gets
// it. A loss or refusal is passed on unchanged, so that it names the cause and not the messenger.
[[nodiscard]] Payload abandon_text(const core::Status& why);
[[nodiscard]] core::Status abandon_status(int rank, core::StatusCode code, const Payload& text);
[[nodiscard]] core::Status reported_status(int rank, const core::Status& why);

}  // namespace ripeline::runtime::network
