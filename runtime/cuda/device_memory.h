// DeviceMemory: buffers of a device, which are used again.
//
// A buffer's last keeper may end on the host while the device still reads it: whoever computes on a
// stream may let go of what it has enqueued work on. So a buffer that comes back is marked by an
// event on each of the streams that compute, and whoever takes it next names the stream that will
// write to it, which then does nothing further before those events. Nothing waits on the host.
//
// What a copy on another stream reads must be kept until the copy is over. Buffers of one size go
// round: nothing is allocated once as many are there as are ever out at once. Any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/payload.h"

namespace ripeline::runtime {

class DeviceMemory {
 public:
  // Of the device, which has that number. The streams, on which keepers compute, must outlive the
  // last buffer.
  DeviceMemory(int device, std::vector<cudaStream_t> computing);

  // `size` bytes, aligned to 256 and not set to anything, that `stream` will write to first.
  core::Status take(std::size_t size, cudaStream_t stream, Bytes& bytes);

  // Allocations until now, and bytes of buffers that are out.
  [[nodiscard]] std::size_t allocations() const;
  [[nodiscard]] std::size_t taken() const;

 private:
  class Pool;
  std::shared_ptr<Pool> pool_;  // buffers that are out keep it
};

}  // namespace ripeline::runtime
