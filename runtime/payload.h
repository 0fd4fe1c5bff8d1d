// Payload: the bytes of a message, which are not copied on their way.
//
// A payload has a small head, which is copied, and parts. A part has the address of its bytes and
// an owner of them, such as a tensor's storage or a pool's buffer. Copies of a payload share its
// parts, even between threads of one process; hence nobody writes to a part once it is sent. A
// BufferPool (runtime/network/buffer_pool.h) decides where arriving parts are put.
//
// Plain values. An owner may be destroyed in any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace ripeline::runtime {

inline constexpr std::size_t kLargestHead = 4096;  // bytes
inline constexpr std::size_t kMostParts = 64;

struct Bytes {
  std::byte* data = nullptr;
  std::size_t size = 0;
  int device = -1;  // -1 for the host's memory
  std::shared_ptr<void> owner = nullptr;
};

struct Payload {
  std::vector<std::byte> head = {};  // at most kLargestHead
  std::vector<Bytes> parts = {};     // at most kMostParts

  // The number of bytes of the head and the parts together.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }
};

// Bytes without a tensor. They become the head if they fit there, else one part that owns them.
using Blob = std::vector<std::byte>;
[[nodiscard]] Payload payload_of(Blob bytes);
// Returns the head and the parts, one after another. Copies the bytes unless there is only a head.
[[nodiscard]] Blob blob_of(Payload payload);

}  // namespace ripeline::runtime
