#include "runtime/protocol/carrier_messages.h"

#include <algorithm>
#include <utility>

#include "runtime/blob_io.h"

namespace ripeline::runtime::protocol {
namespace {

constexpr std::size_t kLongestText = 1024;

std::string cut(const std::string& text) { return text.substr(0, kLongestText); }

void write_handle(BlobWriter& to, const std::optional<MemoryHandle>& handle) {
  to.number(static_cast<std::uint8_t>(handle.has_value()));
  if (handle) to.bytes(handle->data(), handle->size());
}

bool read_handle(BlobReader& from, std::optional<MemoryHandle>& handle) {
  const auto has = from.number<std::uint8_t>();
  if (has == 1) {
    const std::byte* const at = from.bytes(handle.emplace().size());
    if (at != nullptr) std::copy_n(at, handle->size(), handle->begin());
  }
  return has <= 1 && from.ok();
}

template <class Each>
bool read_each(BlobReader& from, std::size_t most, const Each& each) {
  const auto count = from.number<std::uint32_t>();
  bool well = from.ok() && count <= most;
  for (std::uint32_t i = 0; i < count && well; ++i) well = each() && from.ok();
  return well;
}

void write(BlobWriter& to, const CarrierHello& message) {
  to.text(cut(message.setting));
  to.text(cut(message.host));
  write_handle(to, message.handle);
  to.number(message.token);
  to.text(cut(message.why));
}
bool read(BlobReader& from, CarrierHello& message) {
  message.setting = from.text(kLongestText);
  message.host = from.text(kLongestText);
  const bool well = read_handle(from, message.handle);
  message.token = from.number<std::uint64_t>();
  message.why = from.text(kLongestText);
  return well;
}

void write(BlobWriter& to, const CarrierVerdict& message) {
  to.number(static_cast<std::uint8_t>(message.works));
  to.text(cut(message.why));
}
bool read(BlobReader& from, CarrierVerdict& message) {
  const auto works = from.number<std::uint8_t>();
  message.works = works == 1;
  message.why = from.text(kLongestText);
  return works <= 1;
}

void write(BlobWriter& to, const CarrierRefusal& message) {
  to.number(message.code);
  to.text(cut(message.text));
}
bool read(BlobReader& from, CarrierRefusal& message) {
  message.code = from.number<std::int32_t>();
  message.text = from.text(kLongestText);
  return message.code > static_cast<std::int32_t>(core::StatusCode::ok) &&
         message.code <= static_cast<std::int32_t>(core::StatusCode::failed);
}

void write(BlobWriter& to, const BuffersAsked& message) {
  to.number(message.seen);
  to.number(static_cast<std::uint32_t>(message.sizes.size()));
  for (const std::uint64_t size : message.sizes) to.number(size);
  to.number(static_cast<std::uint32_t>(message.closed.size()));
  for (const std::uint32_t id : message.closed) to.number(id);
}
bool read(BlobReader& from, BuffersAsked& message) {
  message.seen = from.number<std::uint64_t>();
  const bool well = read_each(from, kMostBuffers, [&] {
    message.sizes.push_back(from.number<std::uint64_t>());
    return true;
  });
  return well && read_each(from, kMostBuffers, [&] {
           message.closed.push_back(from.number<std::uint32_t>());
           return true;
         });
}

void write(BlobWriter& to, const BuffersGiven& message) {
  to.number(static_cast<std::uint32_t>(message.buffers.size()));
  for (const BuffersGiven::Buffer& buffer : message.buffers) {
    to.number(buffer.id);
    to.number(buffer.bytes);
    write_handle(to, buffer.handle);
  }
}
bool read(BlobReader& from, BuffersGiven& message) {
  return read_each(from, kMostBuffers, [&] {
    BuffersGiven::Buffer& buffer = message.buffers.emplace_back();
    buffer.id = from.number<std::uint32_t>();
    buffer.bytes = from.number<std::uint64_t>();
    return read_handle(from, buffer.handle);
  });
}

void write_head(BlobWriter& to, const Blob& head) {
  to.number(static_cast<std::uint32_t>(head.size()));
  to.bytes(head.data(), head.size());
}
bool read_head(BlobReader& from, Blob& head) {
  const auto size = from.number<std::uint32_t>();
  if (size > kLargestHead) return false;
  const std::byte* const at = from.bytes(size);
  if (at != nullptr) head.assign(at, at + size);
  return true;
}

void write(BlobWriter& to, const Landed& message) {
  to.number(static_cast<std::uint32_t>(message.parts.size()));
  for (const Landed::Part& part : message.parts) {
    to.number(part.buffer);
    to.number(part.size);
  }
  write_head(to, message.head);
}
bool read(BlobReader& from, Landed& message) {
  const bool well = read_each(from, kMostParts, [&] {
    Landed::Part& part = message.parts.emplace_back();
    part.buffer = from.number<std::uint32_t>();
    part.size = from.number<std::uint64_t>();
    return true;
  });
  return well && !message.parts.empty() && read_head(from, message.head);
}

void write(BlobWriter& to, const NcclHello& message) {
  to.text(cut(message.device));
  to.number(message.process);
}
bool read(BlobReader& from, NcclHello& message) {
  message.device = from.text(kLongestText);
  message.process = from.number<std::uint64_t>();
  return true;
}

void write(BlobWriter& to, const NcclName& message) {
  to.bytes(message.id.data(), message.id.size());
}
bool read(BlobReader& from, NcclName& message) {
  const std::byte* const at = from.bytes(message.id.size());
  if (at != nullptr) std::copy_n(at, message.id.size(), message.id.begin());
  return true;
}

void write(BlobWriter& to, const Launched& message) {
  to.number(message.number);
  to.number(static_cast<std::uint32_t>(message.sizes.size()));
  for (const std::uint64_t size : message.sizes) to.number(size);
  write_head(to, message.head);
}
bool read(BlobReader& from, Launched& message) {
  message.number = from.number<std::uint64_t>();
  const bool well = read_each(from, kMostParts, [&] {
    message.sizes.push_back(from.number<std::uint64_t>());
    return true;
  });
  return well && !message.sizes.empty() && read_head(from, message.head);
}

void write(BlobWriter& to, const AllLaunched& message) { to.number(message.count); }
bool read(BlobReader& from, AllLaunched& message) {
  message.count = from.number<std::uint64_t>();
  return true;
}

// Reads a message of kind number `kind`; false if it is malformed or there is no such kind.
template <std::size_t kKind = 0>
bool read_kind(std::size_t kind, BlobReader& from, CarrierMessage& message) {
  if constexpr (kKind < std::variant_size_v<CarrierMessage>) {
    if (kind == kKind) return read(from, message.emplace<kKind>());
    return read_kind<kKind + 1>(kind, from, message);
  }
  return false;
}

}  // namespace

Payload encode_message(const CarrierMessage& message) {
  BlobWriter to;
  to.number(static_cast<std::uint8_t>(message.index()));
  std::visit([&to](const auto& of_kind) { write(to, of_kind); }, message);
  return payload_of(to.take());
}

core::Status decode_message(Payload payload, CarrierMessage& message) {
  const Blob blob = blob_of(std::move(payload));
  BlobReader from(blob);
  const auto kind = from.number<std::uint8_t>();
  if (from.ok() && read_kind(kind, from, message) && from.is_done()) return {};
  return {core::StatusCode::invalid, "a carrier's word of " + std::to_string(blob.size()) +
                                         " bytes, kind " + std::to_string(kind) +
                                         ", which there is not"};
}

}  // namespace ripeline::runtime::protocol
