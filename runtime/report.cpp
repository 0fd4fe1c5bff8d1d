#include "runtime/report.h"

#include <algorithm>
#include <cstring>

namespace ripeline::runtime {

using core::Status;
using core::StatusCode;

Outgoing encode_report(int to, const Status& why) {
  Outgoing out{.to = to, .envelope = {}, .payload = {}};
  out.envelope.signal = Signal::report;
  out.envelope.step = static_cast<std::int64_t>(why.code());
  const std::size_t size = std::min(why.message().size(), kLargestHead);
  out.payload.head.resize(size);
  std::memcpy(out.payload.head.data(), why.message().data(), size);
  return out;
}

Status decode_report(const Delivery& delivery) {
  const std::int64_t code = delivery.envelope.step;
  const std::string text = text_of(delivery.payload);
  const bool is_code = code > static_cast<std::int64_t>(StatusCode::ok) &&
                       code <= static_cast<std::int64_t>(StatusCode::failed);
  const StatusCode of = is_code ? static_cast<StatusCode>(code) : StatusCode::invalid;
  if (of == StatusCode::lost || of == StatusCode::refused) return {of, text};
  return {StatusCode::lost, "rank " + std::to_string(delivery.from) + " stopped: " + text};
}

std::string text_of(const Payload& payload) {
  std::string text(payload.head.size(), '\0');
  std::memcpy(text.data(), payload.head.data(), text.size());
  return text;
}

}  // namespace ripeline::runtime
