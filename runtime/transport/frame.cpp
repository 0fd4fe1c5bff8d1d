#include "runtime/transport/frame.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <type_traits>

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;

// Writes and reads integers one after another, the lowest byte first.
class Writer {
 public:
  explicit Writer(std::byte* at) : at_(at) {}
  template <class Int>
  void write(Int value) {
    auto bits = static_cast<std::make_unsigned_t<Int>>(value);
    for (std::size_t i = 0; i < sizeof(Int); ++i) {
      *at_++ = static_cast<std::byte>(static_cast<std::uint64_t>(bits) >> (8 * i) & 0xff);
    }
  }

 private:
  std::byte* at_;
};

class Reader {
 public:
  explicit Reader(const std::byte* at) : at_(at) {}
  template <class Int>
  Int read() {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < sizeof(Int); ++i) {
      bits |= std::to_integer<std::uint64_t>(*at_++) << (8 * i);
    }
    return static_cast<Int>(bits);
  }

 private:
  const std::byte* at_;
};

struct Kind {
  FrameKind kind;
  Signal signal;
  Channel channel;
};
// The frames that carry an envelope of the program.
constexpr std::array kKinds = {
    Kind{FrameKind::data, Signal::data, Channel::data},
    Kind{FrameKind::announce, Signal::announce, Channel::control},
    Kind{FrameKind::grant, Signal::grant, Channel::control},
    Kind{FrameKind::notice, Signal::notice, Channel::control},
    Kind{FrameKind::gather, Signal::gather, Channel::data},
    Kind{FrameKind::report, Signal::report, Channel::control},
    Kind{FrameKind::begun, Signal::begun, Channel::control},
    Kind{FrameKind::ballot, Signal::ballot, Channel::control},
    Kind{FrameKind::carrier, Signal::carrier, Channel::control},
};

}  // namespace

FrameKind kind_of(Signal signal) {
  for (const Kind& k : kKinds) {
    if (k.signal == signal) return k.kind;
  }
  return FrameKind::data;
}

std::optional<Signal> signal_of(FrameKind kind) {
  for (const Kind& k : kKinds) {
    if (k.kind == kind) return k.signal;
  }
  return std::nullopt;
}

Envelope envelope_of(const Beat& beat) {
  Envelope envelope;
  envelope.step = beat.echo.count();
  envelope.sent = beat.sent;
  return envelope;
}

Beat beat_of(const Envelope& envelope) {
  return {.sent = envelope.sent, .echo = core::Time(envelope.step)};
}

Channel channel_of(FrameKind kind) {
  for (const Kind& k : kKinds) {
    if (k.kind == kind) return k.channel;
  }
  return Channel::control;
}

Header encode_header(const Frame& frame) {
  Header header;
  Writer to(header.data());
  to.write(kFrameMagic);
  to.write(kFrameVersion);
  to.write(static_cast<std::uint16_t>(frame.kind));
  to.write(frame.token);
  to.write(frame.program_hash);
  to.write(frame.envelope.step);
  to.write(frame.envelope.message.edge);
  to.write(frame.envelope.message.microbatch);
  to.write(static_cast<std::int64_t>(frame.envelope.sent.count()));
  to.write(frame.envelope.ordinal);
  to.write(static_cast<std::uint16_t>(frame.payload.head.size()));
  to.write(static_cast<std::uint16_t>(frame.payload.parts.size()));
  return header;
}

Status check_prefix(std::span<const std::byte, kPrefixBytes> prefix) {
  Reader from(prefix.data());
  if (from.read<std::uint32_t>() != kFrameMagic) {
    return {StatusCode::invalid, "a frame that is not Ripeline's"};
  }
  if (const auto version = from.read<std::uint16_t>(); version != kFrameVersion) {
    return {StatusCode::refused, "frame version " + std::to_string(version) + ", expected " +
                                     std::to_string(kFrameVersion)};
  }
  return {};
}

Status decode_header(const Header& header, Frame& frame, PayloadShape& shape) {
  if (Status status = check_prefix(std::span(header).first<kPrefixBytes>()); !status.ok()) {
    return status;
  }
  Reader from(header.data() + kPrefixBytes);
  const auto kind = from.read<std::uint16_t>();
  if (kind < static_cast<std::uint16_t>(FrameKind::hello) ||
      kind > static_cast<std::uint16_t>(FrameKind::carrier)) {
    return {StatusCode::invalid, "frame kind " + std::to_string(kind) + ", which there is not"};
  }
  frame.kind = static_cast<FrameKind>(kind);
  frame.envelope.signal = signal_of(frame.kind).value_or(Signal::data);
  frame.token = from.read<std::uint64_t>();
  frame.program_hash = from.read<std::uint64_t>();
  frame.envelope.step = from.read<std::int64_t>();
  frame.envelope.message.edge = from.read<std::int32_t>();
  frame.envelope.message.microbatch = from.read<std::int32_t>();
  frame.envelope.sent = core::Time(from.read<std::int64_t>());
  frame.envelope.ordinal = from.read<std::int32_t>();
  shape.head = from.read<std::uint16_t>();
  shape.parts = from.read<std::uint16_t>();
  if (shape.head > kLargestHead || shape.parts > kMostParts) {
    return {StatusCode::invalid,
            "a frame whose payload has a head of " + std::to_string(shape.head) + " bytes and " +
                std::to_string(shape.parts) + " parts; at most " + std::to_string(kLargestHead) +
                " and " + std::to_string(kMostParts) + " are allowed"};
  }
  return {};
}

std::vector<std::byte> encode_sizes(const Payload& payload) {
  std::vector<std::byte> bytes(payload.parts.size() * sizeof(std::uint64_t));
  Writer to(bytes.data());
  for (const Bytes& part : payload.parts) to.write(static_cast<std::uint64_t>(part.size));
  return bytes;
}

std::vector<std::uint64_t> decode_sizes(std::span<const std::byte> bytes) {
  std::vector<std::uint64_t> sizes(bytes.size() / sizeof(std::uint64_t));
  Reader from(bytes.data());
  for (std::uint64_t& size : sizes) size = from.read<std::uint64_t>();
  return sizes;
}

Frame abandon_frame(std::uint64_t token, std::uint64_t program_hash, const Status& why) {
  const std::size_t size = std::min(why.message().size(), kLargestHead);
  Frame frame;
  frame.kind = FrameKind::abandon;
  frame.token = token;
  frame.program_hash = program_hash;
  frame.envelope.step = static_cast<std::int64_t>(why.code());
  frame.payload.head.resize(size);
  std::memcpy(frame.payload.head.data(), why.message().data(), size);
  return frame;
}

Status abandon_status(int rank, const Frame& frame) {
  const std::int64_t code = frame.envelope.step;
  std::string text(frame.payload.head.size(), '\0');
  std::memcpy(text.data(), frame.payload.head.data(), text.size());
  const bool is_code = code > static_cast<std::int64_t>(StatusCode::ok) &&
                       code <= static_cast<std::int64_t>(StatusCode::failed);
  return told_status(rank, {is_code ? static_cast<StatusCode>(code) : StatusCode::invalid, text});
}

Status told_status(int rank, const Status& why) {
  if (why.code() == StatusCode::lost || why.code() == StatusCode::refused) return why;
  return {StatusCode::lost, "rank " + std::to_string(rank) + " stopped: " + why.message()};
}

}  // namespace ripeline::runtime
