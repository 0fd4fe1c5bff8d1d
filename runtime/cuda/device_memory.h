// DeviceMemory: buffers of a device, which are used again.
//
// A buffer's last keeper may end on the host while the device still reads it: whoever computes on a
// stream may let go of what it has enqueued work on. So a buffer that comes back is marked by an
// event on each of the streams that compute, and whoever takes it next names the stream that will
// write to it, which then does nothing further before those events. Nothing waits on the host,
// unless there is no more memory.
//
// What a copy on another stream reads must be kept until the copy is over. Buffers of one size go
// round: nothing is allocated once as many are there as are ever out at once. Copies of a
// DeviceMemory are the same memory. Any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/payload.h"

namespace ripeline::runtime {

// All that the computing streams had been given at some moment, and so whatever read a buffer of
// which somebody let go then.
class Readers {
 public:
  // Makes that moment the present one; the device of the streams is current.
  core::Status note(const std::vector<cudaStream_t>& computing);
  // The stream does nothing further before they are over.
  core::Status hold_up(cudaStream_t stream) const;
  // Never blocks. Over for whoever has noted none.
  core::Status query(bool& over) const;
  // Waits for them.
  void wait() const;

 private:
  std::vector<Event> events_;
};

class DeviceMemory {
 public:
  // The memory of the device with that number. The streams, on which keepers compute, must outlive
  // the last buffer.
  DeviceMemory(int device, std::vector<cudaStream_t> computing);

  // `size` bytes, aligned to 256 and not set to anything, that `stream` will write to first.
  core::Status take(std::size_t size, cudaStream_t stream, Bytes& bytes);

  // Memory that goes to nobody else, freed when it ends, in any thread.
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
    // It is never freed: another process may still write to it.
    void leave() { data_ = nullptr; }

   private:
    friend class DeviceMemory;
    void* data_ = nullptr;
    int device_ = 0;
  };
  core::Status allocate(std::size_t size, Own& memory);
  // Whatever computes now.
  core::Status note(Readers& readers) const;

  [[nodiscard]] int device() const;
  // Allocations until now, those that are somebody's own among them, and bytes of buffers that are
  // out.
  [[nodiscard]] std::size_t allocations() const;
  [[nodiscard]] std::size_t owned() const;
  [[nodiscard]] std::size_t taken() const;

 private:
  class Pool;
  std::shared_ptr<Pool> pool_;  // buffers that are out keep it
};

}  // namespace ripeline::runtime
