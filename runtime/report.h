// What a process says of itself when its run fails.
#pragma once

#include <string>

#include "runtime/outgoing.h"

namespace ripeline::runtime {

// What `why`'s process sends to another.
[[nodiscard]] Outgoing encode_report(int to, const core::Status& why);
// What the other makes of it: a loss is passed on as it is, so that it names the cause and not the
// messenger.
[[nodiscard]] core::Status decode_report(const Delivery& delivery);

// The head as text.
[[nodiscard]] std::string text_of(const Payload& payload);

}  // namespace ripeline::runtime
