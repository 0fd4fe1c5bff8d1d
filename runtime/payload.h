// Payload: the bytes of a message, which are not copied on their way.
//
// A small head, which is copied, and parts, which say where they are and are kept by whoever holds
// their keeper: a tensor's storage, a buffer of a pool. Copies of a payload share its parts, and so
// may ranks that are threads of one process; hence nobody writes to a part once it is sent. Where
// the parts of a message that arrives are put is a Place's business (runtime/network/place.h).
//
// Plain values. A keeper may end in any thread.
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
  int device = -1;  // -1: the host's memory
  std::shared_ptr<void> keeper = nullptr;
};

struct Payload {
  std::vector<std::byte> head = {};  // at most kLargestHead
  std::vector<Bytes> parts = {};     // at most kMostParts

  // The bytes of head and parts together.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }
};

// Bytes that are nobody's tensor: in the head if they fit, else in one part that keeps them.
using Blob = std::vector<std::byte>;
[[nodiscard]] Payload payload_of(Blob bytes);
// Head and parts, one after another. Copies, but for a head alone.
[[nodiscard]] Blob blob_of(Payload payload);

}  // namespace ripeline::runtime
