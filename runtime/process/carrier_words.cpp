#include "runtime/process/carrier_words.h"

#include <algorithm>
#include <utility>

#include "runtime/blob_io.h"

namespace ripeline::runtime::process {
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

void write(BlobWriter& to, const CarrierHello& word) {
  to.text(cut(word.setting));
  to.text(cut(word.host));
  write_handle(to, word.handle);
  to.number(word.token);
  to.text(cut(word.why));
}
bool read(BlobReader& from, CarrierHello& word) {
  word.setting = from.text(kLongestText);
  word.host = from.text(kLongestText);
  const bool well = read_handle(from, word.handle);
  word.token = from.number<std::uint64_t>();
  word.why = from.text(kLongestText);
  return well;
}

void write(BlobWriter& to, const CarrierVerdict& word) {
  to.number(static_cast<std::uint8_t>(word.works));
  to.text(cut(word.why));
}
bool read(BlobReader& from, CarrierVerdict& word) {
  const auto works = from.number<std::uint8_t>();
  word.works = works == 1;
  word.why = from.text(kLongestText);
  return works <= 1;
}

void write(BlobWriter& to, const CarrierRefusal& word) {
  to.number(word.code);
  to.text(cut(word.text));
}
bool read(BlobReader& from, CarrierRefusal& word) {
  word.code = from.number<std::int32_t>();
  word.text = from.text(kLongestText);
  return word.code > static_cast<std::int32_t>(core::StatusCode::ok) &&
         word.code <= static_cast<std::int32_t>(core::StatusCode::failed);
}

void write(BlobWriter& to, const PlacesAsked& word) {
  to.number(word.seen);
  to.number(static_cast<std::uint32_t>(word.sizes.size()));
  for (const std::uint64_t size : word.sizes) to.number(size);
  to.number(static_cast<std::uint32_t>(word.closed.size()));
  for (const std::uint32_t id : word.closed) to.number(id);
}
bool read(BlobReader& from, PlacesAsked& word) {
  word.seen = from.number<std::uint64_t>();
  const bool well = read_each(from, kMostPlaces, [&] {
    word.sizes.push_back(from.number<std::uint64_t>());
    return true;
  });
  return well && read_each(from, kMostPlaces, [&] {
           word.closed.push_back(from.number<std::uint32_t>());
           return true;
         });
}

void write(BlobWriter& to, const PlacesGiven& word) {
  to.number(static_cast<std::uint32_t>(word.places.size()));
  for (const PlacesGiven::Place& place : word.places) {
    to.number(place.id);
    to.number(place.bytes);
    write_handle(to, place.handle);
  }
}
bool read(BlobReader& from, PlacesGiven& word) {
  return read_each(from, kMostPlaces, [&] {
    PlacesGiven::Place& place = word.places.emplace_back();
    place.id = from.number<std::uint32_t>();
    place.bytes = from.number<std::uint64_t>();
    return read_handle(from, place.handle);
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

void write(BlobWriter& to, const Landed& word) {
  to.number(static_cast<std::uint32_t>(word.parts.size()));
  for (const Landed::Part& part : word.parts) {
    to.number(part.place);
    to.number(part.size);
  }
  write_head(to, word.head);
}
bool read(BlobReader& from, Landed& word) {
  const bool well = read_each(from, kMostParts, [&] {
    Landed::Part& part = word.parts.emplace_back();
    part.place = from.number<std::uint32_t>();
    part.size = from.number<std::uint64_t>();
    return true;
  });
  return well && !word.parts.empty() && read_head(from, word.head);
}

void write(BlobWriter& to, const NcclHello& word) {
  to.text(cut(word.device));
  to.number(word.process);
}
bool read(BlobReader& from, NcclHello& word) {
  word.device = from.text(kLongestText);
  word.process = from.number<std::uint64_t>();
  return true;
}

void write(BlobWriter& to, const NcclName& word) { to.bytes(word.id.data(), word.id.size()); }
bool read(BlobReader& from, NcclName& word) {
  const std::byte* const at = from.bytes(word.id.size());
  if (at != nullptr) std::copy_n(at, word.id.size(), word.id.begin());
  return true;
}

void write(BlobWriter& to, const Launched& word) {
  to.number(word.number);
  to.number(static_cast<std::uint32_t>(word.sizes.size()));
  for (const std::uint64_t size : word.sizes) to.number(size);
  write_head(to, word.head);
}
bool read(BlobReader& from, Launched& word) {
  word.number = from.number<std::uint64_t>();
  const bool well = read_each(from, kMostParts, [&] {
    word.sizes.push_back(from.number<std::uint64_t>());
    return true;
  });
  return well && !word.sizes.empty() && read_head(from, word.head);
}

void write(BlobWriter& to, const AllLaunched& word) { to.number(word.count); }
bool read(BlobReader& from, AllLaunched& word) {
  word.count = from.number<std::uint64_t>();
  return true;
}

// Reads a word of the kind with that number; false: there is no such kind, or it is malformed.
template <std::size_t kKind = 0>
bool read_kind(std::size_t kind, BlobReader& from, CarrierWord& word) {
  if constexpr (kKind < std::variant_size_v<CarrierWord>) {
    if (kind == kKind) return read(from, word.emplace<kKind>());
    return read_kind<kKind + 1>(kind, from, word);
  }
  return false;
}

}  // namespace

Payload encode_word(const CarrierWord& word) {
  BlobWriter to;
  to.number(static_cast<std::uint8_t>(word.index()));
  std::visit([&to](const auto& of_kind) { write(to, of_kind); }, word);
  return payload_of(to.take());
}

core::Status decode_word(Payload payload, CarrierWord& word) {
  const Blob blob = blob_of(std::move(payload));
  BlobReader from(blob);
  const auto kind = from.number<std::uint8_t>();
  if (from.ok() && read_kind(kind, from, word) && from.is_done()) return {};
  return {core::StatusCode::invalid, "a carrier's word of " + std::to_string(blob.size()) +
                                         " bytes, kind " + std::to_string(kind) +
                                         ", which there is not"};
}

}  // namespace ripeline::runtime::process
