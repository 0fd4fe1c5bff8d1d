// Notices as payloads of messages: 16 bytes, little-endian (docs/formats.md). Pure functions.
#pragma once

#include "core/notice.h"
#include "core/status.h"
#include "runtime/transport/transport.h"

namespace ripeline::runtime {

// All but the message, which the envelope carries.
[[nodiscard]] Payload encode_notice(const core::Notice& notice);
// Refuses what encode_notice() does not make.
core::Status decode_notice(const Delivery& delivery, core::Notice& notice);

}  // namespace ripeline::runtime
