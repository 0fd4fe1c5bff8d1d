// DeviceMemory: buffers of a device, which are used again.
//
// A buffer's last keeper may end on the host while the device still reads the buffer, since a task
// may release a buffer on which it has enqueued work. So for a buffer that comes back an event is
// recorded on each stream that computes, and whoever takes the buffer next names the stream that
// will write to it; that stream waits for those events. The host does not wait, unless there is no
// more memory.
//
// The source of a copy on another stream must be kept until the copy is over. Buffers of one size
// are used again: no more are allocated than are ever out at once. Copies of a DeviceMemory share
// the same memory. Any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/payload.h"

namespace ripeline::runtime::cuda {

// All work that the computing streams had been given at some moment, which includes all readers of
// a buffer that was released then.
class Readers {
 public:
  // Sets that moment to now; the streams' device must be current.
  core::Status note(const std::vector<cudaStream_t>& computing);
  // Makes the stream wait for this work.
  core::Status hold_up(cudaStream_t stream) const;
  // Never blocks. `over` is true if note() was never called.
  core::Status query(bool& over) const;
  // Makes the host wait for this work.
  void wait() const;

 private:
  std::vector<Event> events_;
};

class DeviceMemory {
 public:
  // The memory of the device with that number. `computing` are the streams whose work uses buffers;
  // they must outlive the last buffer.
  DeviceMemory(int device, std::vector<cudaStream_t> computing);

  // Takes `size` uninitialised bytes, aligned to 256, to which `stream` will write first.
  core::Status take(std::size_t size, cudaStream_t stream, Bytes& bytes);

  // Memory that is given to nobody else. The destructor, in any thread, frees it.
  class Own {
   public:
    Own() = default;
    Own(Own&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), device_(other.device_) {}
    Own& operator=(Own&& other) noexcept {
      std::swap(data_, other.data_);
      std::swap(device_, other.device_);
      return *this;
    }
    ~Own();
    [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }
    // Leaks the memory, since another process may still write to it.
    void leave() { data_ = nullptr; }

   private:
    friend class DeviceMemory;
    void* data_ = nullptr;
    int device_ = 0;
  };
  core::Status allocate(std::size_t size, Own& memory);
  // Sets `readers` to the computing streams' work so far.
  core::Status note(Readers& readers) const;

  [[nodiscard]] int device() const;
  // The number of allocations so far, the number among them that are an Own's, and the bytes of
  // buffers that are out.
  [[nodiscard]] std::size_t allocations() const;
  [[nodiscard]] std::size_t owned() const;
  [[nodiscard]] std::size_t taken() const;

 private:
  class Pool;
  std::shared_ptr<Pool> pool_;  // also kept alive by buffers that are out
};

}  // namespace ripeline::runtime::cuda
