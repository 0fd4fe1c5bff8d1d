#include "runtime/payload.h"

#include <utility>

namespace ripeline::runtime {

std::size_t Payload::size() const {
  std::size_t size = head.size();
  for (const Bytes& part : parts) size += part.size;
  return size;
}

Payload payload_of(Blob bytes) {
  if (bytes.size() <= kLargestHead) return {.head = std::move(bytes)};
  auto kept = std::make_shared<Blob>(std::move(bytes));
  Payload payload;
  payload.parts.push_back({.data = kept->data(), .size = kept->size(), .owner = kept});
  return payload;
}

Blob blob_of(Payload payload) {
  Blob all = std::move(payload.head);
  for (const Bytes& part : payload.parts) {
    all.insert(all.end(), part.data, part.data + part.size);
  }
  return all;
}

}  // namespace ripeline::runtime
