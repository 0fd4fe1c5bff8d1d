#include "runtime/notice_codec.h"

#include <string>

namespace ripeline::runtime {
namespace {

constexpr std::size_t kBytes = 16;

void write(Blob& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to.push_back(static_cast<std::byte>(value >> (8 * i) & 0xff));
}

std::uint64_t read(const Blob& from, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value |= std::to_integer<std::uint64_t>(from[at + i]) << (8 * i);
  }
  return value;
}

}  // namespace

Payload encode_notice(const core::Notice& notice) {
  Blob bytes;
  bytes.reserve(kBytes);
  write(bytes, static_cast<std::uint64_t>(notice.kind), 4);
  write(bytes, static_cast<std::uint32_t>(notice.count), 4);
  write(bytes, static_cast<std::uint64_t>(notice.in.count()), 8);
  return payload_of(std::move(bytes));
}

core::Status decode_notice(const Delivery& delivery, core::Notice& notice) {
  const Blob& bytes = delivery.payload.head;
  const std::uint64_t kind = bytes.size() == kBytes ? read(bytes, 0, 4) : 0;
  if (delivery.payload.size() != kBytes || bytes.size() != kBytes ||
      kind > static_cast<std::uint64_t>(core::Notice::Kind::taken)) {
    return {core::StatusCode::invalid, "a notice of " + std::to_string(delivery.payload.size()) +
                                           " bytes, kind " + std::to_string(kind) +
                                           ", which there is not"};
  }
  notice.kind = static_cast<core::Notice::Kind>(kind);
  notice.message = delivery.envelope.message;
  notice.count = static_cast<std::int32_t>(read(bytes, 4, 4));
  notice.in = core::Time{static_cast<std::int64_t>(read(bytes, 8, 8))};
  return {};
}

}  // namespace ripeline::runtime
