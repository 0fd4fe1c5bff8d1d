// Notices as payloads of messages: 16 bytes, little-endian (docs/formats.md). Pure functions.
#pragma once

#include "core/notice.h"
#include "core/status.h"
#include "runtime/payload.h"

namespace ripeline::runtime::process {

// All but the message, which its signal has.
[[nodiscard]] Payload encode_notice(const core::Notice& notice);
// Refuses what encode_notice() does not make.
core::Status decode_notice(core::Message message, const Payload& payload, core::Notice& notice);

}  // namespace ripeline::runtime::process
