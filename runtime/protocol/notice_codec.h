// Notices as payloads of messages: 16 bytes, little-endian (docs/formats.md). Pure functions.
#pragma once

#include "core/notice.h"
#include "core/status.h"
#include "runtime/payload.h"

namespace ripeline::runtime::protocol {

// Encodes the notice without its message, which the signal holds.
[[nodiscard]] Payload encode_notice(const core::Notice& notice);
// Refuses a payload that encode_notice() cannot have made.
core::Status decode_notice(core::Message message, const Payload& payload, core::Notice& notice);

}  // namespace ripeline::runtime::protocol
