#include "runtime/protocol/notice_codec.h"

#include <string>

#include "runtime/blob_io.h"

namespace ripeline::runtime::protocol {
Payload encode_notice(const core::Notice& notice) {
  BlobWriter bytes;
  bytes.number(static_cast<std::uint32_t>(notice.kind));
  bytes.number(notice.count);
  bytes.number(static_cast<std::int64_t>(notice.in.count()));
  return payload_of(bytes.take());
}

core::Status decode_notice(core::Message message, const Payload& payload, core::Notice& notice) {
  BlobReader bytes(payload.head);
  const auto kind = bytes.number<std::uint32_t>();
  notice.count = bytes.number<std::int32_t>();
  notice.in = core::Time{bytes.number<std::int64_t>()};
  if (!bytes.is_done() || !payload.parts.empty() ||
      kind > static_cast<std::uint32_t>(core::Notice::Kind::taken)) {
    return {core::StatusCode::invalid, "a notice of " + std::to_string(payload.size()) +
                                           " bytes, kind " + std::to_string(kind) +
                                           ", which there is not"};
  }
  notice.kind = static_cast<core::Notice::Kind>(kind);
  notice.message = message;
  return {};
}

}  // namespace ripeline::runtime::protocol
