// DeviceMemory: buffers of a device, which are reused.
//
// A buffer's last owner may end on the host while the device still reads the buffer, since a
// task may release a buffer on which it has enqueued work. So when a buffer is released, an
// event is recorded on each computing stream. Whoever takes the buffer next names the stream
// that will write to it, and that stream waits for those events. The host waits only if no
// memory is left.
//
// The source of a copy on another stream must be kept until the copy is over. A buffer is reused
// for its own size only, and no more buffers are allocated than are ever in use at once. Copies of
// a DeviceMemory share the same memory. Any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/payload.h"

namespace ripeline::runtime::cuda {

// The work that had been enqueued on the computing streams at some moment. It includes all readers
// of a buffer that was released then.
class Readers {
 public:
  // Sets that moment to now; the streams' device must be current.
  core::Status note(const std::vector<cudaStream_t>& computing);
  // Makes the stream wait for this work.
  core::Status hold_up(cudaStream_t stream) const;
  // Sets `over` to whether this work is over; true if note() was never called. Never blocks.
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

  // Memory that is outside the pool. The destructor frees it, in any thread.
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
    // Leaks the memory, since another process may still write there.
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
  // The number of allocations so far, how many of them were made for an Own, and the bytes of
  // buffers that are in use.
  [[nodiscard]] std::size_t allocations() const;
  [[nodiscard]] std::size_t owned() const;
  [[nodiscard]] std::size_t taken() const;

 private:
  class Pool;
  std::shared_ptr<Pool> pool_;  // also kept alive by buffers in use
};

}  // namespace ripeline::runtime::cuda
