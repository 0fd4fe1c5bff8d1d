// KeptBufferPool: pinned memory that is freed only at the end, because freeing memory waits for the
// device, which may wait for other ranks.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/network/buffer_pool.h"

namespace ripeline::testing_support {

class KeptBufferPool final : public runtime::network::BufferPool {
 public:
  runtime::Bytes take(core::EdgeId, std::size_t wanted) override {
    const std::size_t size = std::max<std::size_t>(wanted, 1);
    void* data = free_->take(size);
    if (data == nullptr && cudaHostAlloc(&data, size, cudaHostAllocPortable) != cudaSuccess) {
      return {};
    }
    return {.data = static_cast<std::byte*>(data),
            .size = wanted,
            .owner = {data, [free = free_, size](void* buffer) { free->give(buffer, size); }}};
  }

 private:
  struct Free {
    Free() = default;
    Free(const Free&) = delete;
    Free& operator=(const Free&) = delete;
    ~Free() {
      for (const auto& [size, buffer] : buffers) cudaFreeHost(buffer);
    }
    void* take(std::size_t size) {
      const std::lock_guard lock(mutex);
      const auto found = buffers.find(size);
      return found == buffers.end() ? nullptr : buffers.extract(found).mapped();
    }
    void give(void* buffer, std::size_t size) {
      const std::lock_guard lock(mutex);
      buffers.emplace(size, buffer);
    }
    std::mutex mutex;
    std::multimap<std::size_t, void*> buffers;  // by size
  };
  std::shared_ptr<Free> free_ = std::make_shared<Free>();  // buffers in use share it
};

}  // namespace ripeline::testing_support
