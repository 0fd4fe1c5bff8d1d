// Frames: what goes over a connection of transport/socket. docs/formats.md has the layout.
//
// A frame is a header of 60 bytes, little-endian, and a payload whose length the header gives.
// Plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/status.h"
#include "runtime/transport/transport.h"

namespace ripeline::runtime {

enum class FrameKind : std::uint16_t {
  hello = 1,  // first in both directions; edge is the sender's rank, microbatch the number of ranks
  data,       // a message of a task
  gather,     // a rank's part of all_gather; step is the number of the call
  goodbye,    // nothing follows; the sender waits for the others
  abandon,    // the sender stops; step is the status code, the payload its text
  announce,   // a message waits to be granted; no payload
  grant,      // a message may leave, or its slot is free; no payload
  notice,     // what hints that wait tell each other; 16 bytes
};

struct Frame {
  FrameKind kind = FrameKind::data;
  std::uint64_t token = 0;  // of the run
  std::uint64_t program_hash = 0;
  Envelope envelope;
  Payload payload;
};

inline constexpr std::uint32_t kFrameMagic = 0x4c504952;  // "RIPL"
inline constexpr std::uint16_t kFrameVersion = 3;
inline constexpr std::size_t kHeaderBytes = 60;
using Header = std::array<std::byte, kHeaderBytes>;

[[nodiscard]] Header encode_header(const Frame& frame);

// What every version begins with: refused before the rest is waited for.
inline constexpr std::size_t kPrefixBytes = 6;
core::Status check_prefix(std::span<const std::byte, kPrefixBytes> prefix);

// Fills all of `frame` but the payload. Refuses what is no header of this version.
core::Status decode_header(const Header& header, Frame& frame, std::uint64_t& payload_bytes);

// What a rank that stops for `why` sends, and what `rank`'s peers make of it: a loss is passed on
// as it is, so that it names the cause and not the messenger.
[[nodiscard]] Frame abandon_frame(std::uint64_t token, std::uint64_t program_hash,
                                  const core::Status& why);
[[nodiscard]] core::Status abandon_status(int rank, const Frame& frame);
[[nodiscard]] core::Status told_status(int rank, const core::Status& why);

}  // namespace ripeline::runtime
