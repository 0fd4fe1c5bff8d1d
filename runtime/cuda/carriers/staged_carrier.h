// StagedCarrier: moves parts through pinned memory of the host, over any transport of host bytes.
//
// A part on the device is copied to pinned memory before its message is sent; an arriving message
// is copied to the device, and delivered once the host has seen the copy end. A copy waits only for
// work that its own process has enqueued. This carrier works everywhere, also between hosts and for
// several processes on one device. Parts in the host's memory are sent as they are; all parts of
// the program's messages arrive on the device.
#pragma once

#include <utility>

#include "runtime/cuda/carriers/carrier.h"
#include "runtime/cuda/device_memory.h"
#include "runtime/network/buffer_pool.h"

namespace ripeline::runtime::cuda {

// Pinned memory of the host, so that copies to and from a device do not wait for the processor.
[[nodiscard]] network::HostBufferPool make_pinned_pool();

class StagedCarrier final : public Carrier {
 public:
  // All arguments are borrowed. The transport puts arriving parts into `pinned`.
  StagedCarrier(Transport& control, int peer, network::BufferPool& pinned, DeviceMemory& memory,
                cudaStream_t to_host, cudaStream_t to_device);

  [[nodiscard]] CarrierKind kind() const override { return CarrierKind::staged; }
  // Takes a message from the peer, as the transport delivered it.
  void take(Delivery delivery) { expect(std::move(delivery)); }

 private:
  core::Status launch(Message& message, cudaStream_t& stream) override;
  core::Status landed(Message message) override;
  core::Status copy_to_host(Message& message);
  core::Status copy_to_device(Message& message);

  network::BufferPool& pinned_;
  DeviceMemory& memory_;
  cudaStream_t to_host_;
  cudaStream_t to_device_;
};

}  // namespace ripeline::runtime::cuda
