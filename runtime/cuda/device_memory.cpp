#include "runtime/cuda/device_memory.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace ripeline::runtime {

using core::Status;

class DeviceMemory::Pool {
 public:
  Pool(int device, std::vector<cudaStream_t> computing)
      : device_(device), computing_(std::move(computing)) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (auto& [size, buffers] : free_) {
      for (Buffer& buffer : buffers) cudaFree(buffer.data);
    }
  }

  [[nodiscard]] int device() const { return device_; }

  struct Buffer {
    void* data = nullptr;
    std::size_t size = 0;
    std::vector<Event> read;  // on each computing stream, as it came back; none: it is new
  };

  Status take(std::size_t size, cudaStream_t stream, Buffer& buffer) {
    const std::lock_guard lock(mutex_);
    buffer.size = size;
    std::vector<Buffer>& of_size = free_[size];
    if (of_size.empty()) {
      if (Status s = status_of(cudaMalloc(&buffer.data, size),
                               "allocate " + std::to_string(size) + " bytes");
          !s.ok()) {
        return s;
      }
      ++allocations_;
    } else {
      buffer = std::move(of_size.back());
      of_size.pop_back();
      for (const Event& event : buffer.read) {
        if (Status s = event.hold_up(stream); !s.ok()) return s;
      }
    }
    taken_ += size;
    return {};
  }

  // The device cannot be asked any more where this fails: nobody takes the buffer again.
  void give_back(Buffer buffer) {
    const std::lock_guard lock(mutex_);
    taken_ -= buffer.size;
    buffer.read.resize(computing_.size());
    for (std::size_t i = 0; i < computing_.size(); ++i) {
      Event& event = buffer.read[i];
      if (event.get() == nullptr && !Event::make(event).ok()) return;
      if (!event.record(computing_[i]).ok()) return;
    }
    free_[buffer.size].push_back(std::move(buffer));
  }

  std::size_t allocations() const {
    const std::lock_guard lock(mutex_);
    return allocations_;
  }
  std::size_t taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }

 private:
  const int device_;
  const std::vector<cudaStream_t> computing_;
  mutable std::mutex mutex_;
  // Guarded by the mutex.
  std::map<std::size_t, std::vector<Buffer>> free_;  // by size
  std::size_t allocations_ = 0;
  std::size_t taken_ = 0;
};

DeviceMemory::DeviceMemory(int device, std::vector<cudaStream_t> computing)
    : pool_(std::make_shared<Pool>(device, std::move(computing))) {}

Status DeviceMemory::take(std::size_t size, cudaStream_t stream, Bytes& bytes) {
  auto buffer = std::make_unique<Pool::Buffer>();
  if (Status s = pool_->take(std::max<std::size_t>(size, 1), stream, *buffer); !s.ok()) return s;
  auto* const data = static_cast<std::byte*>(buffer->data);
  const auto give_back = [pool = pool_](Pool::Buffer* b) {
    pool->give_back(std::move(*b));
    delete b;
  };
  bytes = {.data = data,
           .size = size,
           .device = pool_->device(),
           .keeper = std::shared_ptr<Pool::Buffer>(buffer.release(), give_back)};
  return {};
}

std::size_t DeviceMemory::allocations() const { return pool_->allocations(); }
std::size_t DeviceMemory::taken() const { return pool_->taken(); }

}  // namespace ripeline::runtime
