// StagedCarrier: through pinned memory of the host, over any transport of the host's bytes.
//
// A part on the device is copied to pinned memory first, and the message then sent as any other;
// what arrives is copied to the device, and is delivered once the host has seen that it is there.
// No copy waits for anything but what its own process has enqueued. It works everywhere, between
// hosts and for several processes on one device. Parts of the host's memory leave as they are; all
// parts of messages of the program arrive on the device.
#pragma once

#include <utility>

#include "runtime/cuda/carriers/carrier.h"
#include "runtime/cuda/device_memory.h"
#include "runtime/place.h"

namespace ripeline::runtime {

// Pinned memory of the host: copies from and to a device do not wait for the processor.
[[nodiscard]] HostPlace make_pinned_place();

class StagedCarrier final : public Carrier {
 public:
  // All are borrowed. `pinned` is where the transport puts what arrives.
  StagedCarrier(Transport& control, int peer, Place& pinned, DeviceMemory& memory,
                cudaStream_t to_host, cudaStream_t to_device);

  [[nodiscard]] CarrierKind kind() const override { return CarrierKind::staged; }
  // A message of the peer's, as the transport gave it.
  void take(Delivery delivery) { expect(std::move(delivery)); }

 private:
  core::Status launch(Message& message, cudaStream_t& stream) override;
  core::Status landed(Message message) override;
  core::Status copy_to_host(Message& message);
  core::Status copy_to_device(Message& message);

  Place& pinned_;
  DeviceMemory& memory_;
  cudaStream_t to_host_;
  cudaStream_t to_device_;
};

}  // namespace ripeline::runtime
