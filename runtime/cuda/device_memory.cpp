#include "runtime/cuda/device_memory.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/watchdog/call_guard.h"

namespace ripeline::runtime::cuda {

using core::Status;

Status Readers::note(const std::vector<cudaStream_t>& computing) {
  events_.resize(computing.size());
  for (std::size_t i = 0; i < computing.size(); ++i) {
    Event& event = events_[i];
    if (event.get() == nullptr) {
      if (Status s = Event::make(event, Event::Time::none); !s.ok()) return s;
    }
    if (Status s = event.record(computing[i]); !s.ok()) return s;
  }
  return {};
}

Status Readers::hold_up(cudaStream_t stream) const {
  for (const Event& event : events_) {
    if (Status s = event.hold_up(stream); !s.ok()) return s;
  }
  return {};
}

Status Readers::query(bool& over) const {
  over = true;
  for (const Event& event : events_) {
    if (Status s = event.query(over); !s.ok() || !over) return s;
  }
  return {};
}

void Readers::wait() const {
  const watchdog::GuardedCall call("cudaEventSynchronize");
  for (const Event& event : events_) {
    if (event.get() != nullptr) cudaEventSynchronize(event.get());
  }
}

class DeviceMemory::Pool {
 public:
  Pool(int device, std::vector<cudaStream_t> computing)
      : device_(device), computing_(std::move(computing)) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { free_all(); }

  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] const std::vector<cudaStream_t>& computing() const { return computing_; }

  struct Buffer {
    void* data = nullptr;
    std::size_t size = 0;
    Readers readers;  // the readers at its release
  };

  Status take(std::size_t size, cudaStream_t stream, Buffer& buffer) {
    const CurrentDevice current(device_);
    const std::lock_guard lock(mutex_);
    buffer.size = size;
    std::deque<Buffer>& of_size = free_[size];
    if (of_size.empty()) {
      if (Status s = allocate(size, buffer.data); !s.ok()) return s;
    } else {
      // Takes the buffer that was released first, since its readers are the likeliest to be over.
      buffer = std::move(of_size.front());
      of_size.pop_front();
      if (Status s = buffer.readers.hold_up(stream); !s.ok()) return s;
    }
    taken_ += size;
    return {};
  }

  // If note() fails, the device has failed, and nobody takes the buffer again.
  void give_back(Buffer buffer) {
    const CurrentDevice current(device_);
    const std::lock_guard lock(mutex_);
    taken_ -= buffer.size;
    if (buffer.readers.note(computing_).ok()) free_[buffer.size].push_back(std::move(buffer));
  }

  Status own(std::size_t size, void*& data) {
    const CurrentDevice current(device_);
    const std::lock_guard lock(mutex_);
    Status status = allocate(size, data);
    owned_ += status.ok() ? 1 : 0;
    return status;
  }

  std::size_t allocations() const {
    const std::lock_guard lock(mutex_);
    return allocations_;
  }
  std::size_t owned() const {
    const std::lock_guard lock(mutex_);
    return owned_;
  }
  std::size_t taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }

 private:
  // Allocates memory. If the device has none left, frees all unused buffers and tries again.
  Status allocate(std::size_t size, void*& data) {
    const watchdog::GuardedCall call("cudaMalloc");
    cudaError_t error = cudaMalloc(&data, size);
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // clears the error, which is handled here
      free_all();
      error = cudaMalloc(&data, size);
    }
    if (error == cudaSuccess) ++allocations_;
    return status_of(error, "allocate " + std::to_string(size) + " bytes");
  }

  // Frees all unused buffers after a wait for their readers, since cudaFree() might not wait.
  void free_all() {
    for (auto& [size, buffers] : free_) {
      for (Buffer& buffer : buffers) {
        buffer.readers.wait();
        const watchdog::GuardedCall call("cudaFree");
        cudaFree(buffer.data);
      }
      buffers.clear();
    }
  }

  const int device_;
  const std::vector<cudaStream_t> computing_;
  mutable std::mutex mutex_;
  // Guarded by the mutex.
  std::map<std::size_t, std::deque<Buffer>> free_;  // by size, in the order of their return
  std::size_t allocations_ = 0;
  std::size_t owned_ = 0;
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
           .owner = std::shared_ptr<Pool::Buffer>(buffer.release(), give_back)};
  return {};
}

DeviceMemory::Own::~Own() {
  if (data_ == nullptr) return;
  const CurrentDevice current(device_);
  const watchdog::GuardedCall call("cudaFree");
  cudaFree(data_);
}

Status DeviceMemory::allocate(std::size_t size, Own& memory) {
  Own made;
  made.device_ = pool_->device();
  if (Status s = pool_->own(size, made.data_); !s.ok()) return s;
  memory = std::move(made);
  return {};
}

Status DeviceMemory::note(Readers& readers) const {
  const CurrentDevice current(pool_->device());
  return readers.note(pool_->computing());
}

int DeviceMemory::device() const { return pool_->device(); }
std::size_t DeviceMemory::allocations() const { return pool_->allocations(); }
std::size_t DeviceMemory::owned() const { return pool_->owned(); }
std::size_t DeviceMemory::taken() const { return pool_->taken(); }

}  // namespace ripeline::runtime::cuda
