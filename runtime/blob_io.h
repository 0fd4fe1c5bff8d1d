// Numbers and texts as little-endian bytes, for messages between processes.
//
// A reader never goes beyond the end of its bytes: once something is missing, ok() is false, and
// the reader returns zeros and empty texts. Lengths are checked before anything is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/payload.h"

namespace ripeline::runtime {

// Writes the values one after another; there must be room for all of them at `to`.
template <class... Ints>
void write_numbers(std::byte* to, Ints... values) {
  const auto write = [&to](std::uint64_t bits, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) *to++ = static_cast<std::byte>(bits >> (8 * i) & 0xff);
  };
  (write(static_cast<std::uint64_t>(values), sizeof(Ints)), ...);
}

class BlobWriter {
 public:
  template <class Int>
  void number(Int value) {
    blob_.resize(blob_.size() + sizeof(Int));
    write_numbers(blob_.data() + blob_.size() - sizeof(Int), value);
  }
  void bytes(const void* data, std::size_t size) {
    const auto* at = static_cast<const std::byte*>(data);
    blob_.insert(blob_.end(), at, at + size);
  }
  // Appends the length of the text, then its characters.
  void text(std::string_view text) {
    number(static_cast<std::uint32_t>(text.size()));
    bytes(text.data(), text.size());
  }
  [[nodiscard]] Blob take() { return std::move(blob_); }

 private:
  Blob blob_;
};

class BlobReader {
 public:
  // Borrows the bytes.
  explicit BlobReader(std::span<const std::byte> from) : from_(from) {}

  [[nodiscard]] bool ok() const { return ok_; }
  // True if all bytes are read and none of the reads went beyond the end.
  [[nodiscard]] bool is_done() const { return ok_ && at_ == from_.size(); }
  template <class Int>
  Int number() {
    std::uint64_t bits = 0;
    if (!has(sizeof(Int))) return 0;
    for (std::size_t i = 0; i < sizeof(Int); ++i) {
      bits |= std::to_integer<std::uint64_t>(from_[at_++]) << (8 * i);
    }
    return static_cast<Int>(bits);
  }
  // Returns null if fewer than `size` bytes are left.
  const std::byte* bytes(std::uint64_t size) {
    if (!has(size)) return nullptr;
    const std::byte* const at = from_.data() + at_;
    at_ += size;
    return at;
  }
  std::string text(std::size_t most) {
    const auto size = number<std::uint32_t>();
    ok_ = ok_ && size <= most;
    const std::byte* const at = bytes(size);
    return at == nullptr ? "" : std::string(reinterpret_cast<const char*>(at), size);
  }

 private:
  bool has(std::uint64_t size) { return ok_ = ok_ && size <= from_.size() - at_; }

  std::span<const std::byte> from_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace ripeline::runtime
