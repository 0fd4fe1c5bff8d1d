#include "runtime/network/frame.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/blob_io.h"

namespace ripeline::runtime::network {
namespace {

using core::Status;
using core::StatusCode;

// The header fields that a frame's content sets; docs/formats.md says which kinds use which fields.
// The other fields keep their defaults.
struct Fields {
  FrameKind kind = FrameKind::data;
  std::int64_t step = 0;
  core::Message message = {};
  core::Time sent{0};
  std::int32_t ordinal = 0;
};

// The message of a `data` frame with a Connect, which transports exchange while they connect.
constexpr core::Message kNoMessage{.edge = -1, .microbatch = 0};

Fields of_message(FrameKind kind, const signals::OfMessage& of, std::int32_t ordinal = 0) {
  return {.kind = kind, .step = of.step, .message = of.message, .ordinal = ordinal};
}

Fields fields_of(const signals::Data& s) { return of_message(FrameKind::data, s, s.ordinal); }
Fields fields_of(const signals::Announce& s) {
  return of_message(FrameKind::announce, s, s.ordinal);
}
Fields fields_of(const signals::Grant& s) { return of_message(FrameKind::grant, s); }
Fields fields_of(const signals::Notice& s) { return of_message(FrameKind::notice, s); }
Fields fields_of(const signals::Begun& s) {
  return {.kind = FrameKind::begun, .step = s.step, .message = {.microbatch = s.microbatches}};
}
Fields fields_of(const signals::Ballot& s) { return {.kind = FrameKind::ballot, .step = s.step}; }
Fields fields_of(const signals::Gather& s) { return {.kind = FrameKind::gather, .step = s.number}; }
Fields fields_of(const signals::Report&) { return {.kind = FrameKind::report}; }
Fields fields_of(const signals::Carrier& s) {
  return of_message(FrameKind::carrier, s.data, s.data.ordinal);
}
Fields fields_of(const signals::Connect& s) {
  return {.step = static_cast<std::int64_t>(s.code), .message = kNoMessage, .ordinal = s.kind};
}
Fields fields_of(const signals::Lost&) { return {}; }  // a Lost is never sent

Fields fields_of(const Envelope& envelope) {
  Fields fields = std::visit([](const auto& signal) { return fields_of(signal); }, envelope.signal);
  fields.sent = envelope.sent;
  return fields;
}
Fields fields_of(const Hello& hello) {
  return {.kind = FrameKind::hello,
          .message = {.edge = hello.rank, .microbatch = hello.ranks},
          .ordinal = hello.role};
}
Fields fields_of(const Goodbye&) { return {.kind = FrameKind::goodbye}; }
Fields fields_of(const Abandon& abandon) {
  return {.kind = FrameKind::abandon, .step = static_cast<std::int64_t>(abandon.code)};
}
Fields of_beat(FrameKind kind, const Beat& beat) {
  return {.kind = kind, .step = beat.echo.count(), .sent = beat.sent};
}
Fields fields_of(const Heartbeat& heartbeat) {
  return of_beat(FrameKind::heartbeat, heartbeat.beat);
}
Fields fields_of(const Ready& ready) { return of_beat(FrameKind::ready, ready.beat); }

Fields fields_of(const FrameContent& content) {
  return std::visit([](const auto& of_kind) { return fields_of(of_kind); }, content);
}

// The status code with this number, or `invalid` if there is none.
StatusCode code_of(std::int64_t number) {
  const bool is_code = number >= static_cast<std::int64_t>(StatusCode::ok) &&
                       number <= static_cast<std::int64_t>(StatusCode::failed);
  return is_code ? static_cast<StatusCode>(number) : StatusCode::invalid;
}

// The inverse of fields_of().
FrameContent content_of(const Fields& f) {
  const signals::OfMessage of{.step = f.step, .message = f.message};
  const Beat beat{.sent = f.sent, .echo = core::Time(f.step)};
  const auto envelope = [&f](Signal signal) { return Envelope{.signal = signal, .sent = f.sent}; };
  switch (f.kind) {
    case FrameKind::hello:
      return Hello{.rank = f.message.edge, .ranks = f.message.microbatch, .role = f.ordinal};
    case FrameKind::data:
      if (f.message != kNoMessage) return envelope(signals::Data{of, f.ordinal});
      return envelope(signals::Connect{.kind = f.ordinal, .code = code_of(f.step)});
    case FrameKind::gather:
      return envelope(signals::Gather{f.step});
    case FrameKind::goodbye:
      return Goodbye{};
    case FrameKind::abandon:
      return Abandon{code_of(f.step)};
    case FrameKind::announce:
      return envelope(signals::Announce{of, f.ordinal});
    case FrameKind::grant:
      return envelope(signals::Grant{of});
    case FrameKind::notice:
      return envelope(signals::Notice{of});
    case FrameKind::heartbeat:
      return Heartbeat{beat};
    case FrameKind::report:
      return envelope(signals::Report{});
    case FrameKind::begun:
      return envelope(signals::Begun{.step = f.step, .microbatches = f.message.microbatch});
    case FrameKind::ballot:
      return envelope(signals::Ballot{f.step});
    case FrameKind::ready:
      return Ready{beat};
    case FrameKind::carrier:
      return envelope(signals::Carrier{{of, f.ordinal}});
  }
  return {};
}

}  // namespace

FrameKind kind_of(const FrameContent& content) { return fields_of(content).kind; }

core::EdgeId edge_of(const FrameContent& content) {
  const auto* const envelope = std::get_if<Envelope>(&content);
  const auto* const of = envelope != nullptr ? message_of(envelope->signal) : nullptr;
  return of != nullptr ? of->message.edge : -1;
}

ConnectionRole role_of(FrameKind kind) {
  const bool is_long = kind == FrameKind::data || kind == FrameKind::gather;
  return is_long ? ConnectionRole::data : ConnectionRole::control;
}

Header encode_header(const Frame& frame) {
  const Fields fields = fields_of(frame.content);
  Header header;
  write_numbers(header.data(), kFrameMagic, kFrameVersion, static_cast<std::uint16_t>(fields.kind),
                frame.token, frame.program_hash, fields.step, fields.message.edge,
                fields.message.microbatch, static_cast<std::int64_t>(fields.sent.count()),
                fields.ordinal, static_cast<std::uint16_t>(frame.payload.head.size()),
                static_cast<std::uint16_t>(frame.payload.parts.size()));
  return header;
}

Status check_prefix(std::span<const std::byte, kPrefixBytes> prefix) {
  BlobReader from(prefix);
  if (from.number<std::uint32_t>() != kFrameMagic) {
    return {StatusCode::invalid, "a frame that is not Ripeline's"};
  }
  if (const auto version = from.number<std::uint16_t>(); version != kFrameVersion) {
    return {StatusCode::refused, "frame version " + std::to_string(version) + ", expected " +
                                     std::to_string(kFrameVersion)};
  }
  return {};
}

Status decode_header(const Header& header, Frame& frame, PayloadShape& shape) {
  if (Status status = check_prefix(std::span(header).first<kPrefixBytes>()); !status.ok()) {
    return status;
  }
  BlobReader from(std::span<const std::byte>(header).subspan(kPrefixBytes));
  const auto kind = from.number<std::uint16_t>();
  if (kind < static_cast<std::uint16_t>(FrameKind::hello) ||
      kind > static_cast<std::uint16_t>(FrameKind::carrier)) {
    return {StatusCode::invalid, "frame kind " + std::to_string(kind) + ", which there is not"};
  }
  Fields fields{.kind = static_cast<FrameKind>(kind)};
  frame.token = from.number<std::uint64_t>();
  frame.program_hash = from.number<std::uint64_t>();
  fields.step = from.number<std::int64_t>();
  fields.message.edge = from.number<std::int32_t>();
  fields.message.microbatch = from.number<std::int32_t>();
  fields.sent = core::Time(from.number<std::int64_t>());
  fields.ordinal = from.number<std::int32_t>();
  frame.content = content_of(fields);
  shape.head = from.number<std::uint16_t>();
  shape.parts = from.number<std::uint16_t>();
  if (shape.head > kLargestHead || shape.parts > kMostParts) {
    return {StatusCode::invalid,
            "a frame whose payload has a head of " + std::to_string(shape.head) + " bytes and " +
                std::to_string(shape.parts) + " parts; at most " + std::to_string(kLargestHead) +
                " and " + std::to_string(kMostParts) + " are allowed"};
  }
  return {};
}

std::vector<std::byte> encode_sizes(const Payload& payload) {
  BlobWriter to;
  for (const Bytes& part : payload.parts) to.number(static_cast<std::uint64_t>(part.size));
  return to.take();
}

std::vector<std::uint64_t> decode_sizes(std::span<const std::byte> bytes) {
  std::vector<std::uint64_t> sizes(bytes.size() / sizeof(std::uint64_t));
  BlobReader from(bytes);
  for (std::uint64_t& size : sizes) size = from.number<std::uint64_t>();
  return sizes;
}

Payload abandon_text(const Status& why) {
  Payload payload;
  payload.head.resize(std::min(why.message().size(), kLargestHead));
  std::memcpy(payload.head.data(), why.message().data(), payload.head.size());
  return payload;
}

Status abandon_status(int rank, StatusCode code, const Payload& text) {
  std::string why(text.head.size(), '\0');
  std::memcpy(why.data(), text.head.data(), why.size());
  return reported_status(rank, {code == StatusCode::ok ? StatusCode::invalid : code, why});
}

Status reported_status(int rank, const Status& why) {
  if (why.code() == StatusCode::lost || why.code() == StatusCode::refused) return why;
  return {StatusCode::lost, "rank " + std::to_string(rank) + " stopped: " + why.message()};
}

}  // namespace ripeline::runtime::network
