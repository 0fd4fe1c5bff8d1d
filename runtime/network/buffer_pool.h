// BufferPool: provides the memory for the parts of arriving messages.
//
// A transport takes a buffer when it knows how long a part is, and fills it as the bytes arrive.
// When the last copy of the part's owner (runtime/payload.h) ends, another message may get the
// buffer. HostBufferPool is ordinary memory. The messages of a pipeline have the same few sizes
// again and again, so that after the first step nothing is allocated, zeroed or mapped anew.
#pragma once

#include <cstddef>
#include <memory>

#include "core/vocabulary/task.h"
#include "runtime/payload.h"

namespace ripeline::runtime::network {

class BufferPool {
 public:
  virtual ~BufferPool() = default;
  // Returns `size` uninitialised bytes, aligned to 64, for a part of a message; `edge` is its edge
  // or -1. `data` is null if there is no memory. Called by the transport's thread.
  virtual Bytes take(core::EdgeId edge, std::size_t size) = 0;
};

class HostBufferPool final : public BufferPool {
 public:
  // The source of the buffers. `take` returns null if there is no memory; `give` returns a buffer
  // to the source. Both may be called in any thread.
  struct Memory {
    void* (*take)(std::size_t size);
    void (*give)(void* buffer);
  };
  HostBufferPool();
  explicit HostBufferPool(const Memory& memory);
  Bytes take(core::EdgeId edge, std::size_t size) override;

  // The bytes of the buffers in use, and those of the free buffers, which are kept for later parts
  // and never exceed twice the most that was in use at once.
  [[nodiscard]] std::size_t taken() const;
  [[nodiscard]] std::size_t free() const;

 private:
  class Buffers;
  std::shared_ptr<Buffers> buffers_;  // kept alive by the buffers in use
};

}  // namespace ripeline::runtime::network
