// StagedTransport: messages whose parts lie on a device, over any transport of the host's bytes.
//
// A part on the device is copied to pinned memory of the host first, on a stream of its own; what
// arrives is copied to the device, on another, and is delivered once the host has seen that it is
// there. So a delivery is complete, and no copy waits for anything but what its own process has
// enqueued. It works everywhere, between hosts and for several processes on one device.
//
//   PinnedPlace pinned;
//   … a transport that puts what arrives into `pinned` …
//   StagedTransport staged(*inner, pinned, memory, to_host.get(), to_device.get());
//
// Parts of the host's memory leave as they are; parts of messages of the program arrive on the
// device. While a copy is on its way poll() returns at once. All are borrowed; the transport is
// ended after the inner one has been finished or abandoned. One thread, but for wake().
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/cuda/completions.h"
#include "runtime/cuda/device_memory.h"
#include "runtime/place.h"
#include "runtime/transport/transport.h"

namespace ripeline::runtime {

// Pinned memory of the host: copies from and to a device do not wait for the processor.
[[nodiscard]] HostPlace make_pinned_place();

class StagedTransport final : public Transport {
 public:
  StagedTransport(Transport& inner, Place& pinned, DeviceMemory& memory, cudaStream_t to_host,
                  cudaStream_t to_device);

  [[nodiscard]] int self() const override { return inner_.self(); }
  [[nodiscard]] int processes() const override { return inner_.processes(); }
  [[nodiscard]] const std::vector<int>& neighbours() const override { return inner_.neighbours(); }
  core::Status send(int to, const Envelope& envelope, Payload payload) override;
  core::Status poll(std::chrono::nanoseconds wait, std::vector<Delivery>& deliveries) override;
  void wake() override { inner_.wake(); }
  core::Status watch(int descriptor) override { return inner_.watch(descriptor); }
  [[nodiscard]] std::size_t queued(int to) const override;
  [[nodiscard]] core::Time heard(int from) const override { return inner_.heard(from); }
  [[nodiscard]] core::Time ahead() const override { return inner_.ahead(); }
  core::Status finish(std::chrono::nanoseconds limit) override;
  void flush(std::chrono::nanoseconds limit) override;

 private:
  // One whose parts are being copied to the host.
  struct Leaving {
    int to = -1;
    Envelope envelope;
    Payload from;  // kept until the copy is over
    Payload onto;
  };
  // One whose parts are being copied to the device: `delivery` has those of the host.
  struct Arriving {
    Delivery delivery;
    std::vector<Bytes> parts;
  };

  core::Status copy_to_host(Leaving& message);
  core::Status take(Delivery delivery);
  core::Status copy_to_device(Arriving& message);
  [[nodiscard]] bool has_arriving(int from) const;
  core::Status progress();
  core::Status send_all(core::Time last);

  Transport& inner_;
  Place& pinned_;
  DeviceMemory& memory_;
  cudaStream_t to_host_;
  cudaStream_t to_device_;
  Completions copies_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Leaving> leaving_;
  std::map<std::uint64_t, Arriving> arriving_;
  std::vector<Delivery> lost_;   // told after all that their senders have sent
  std::vector<Delivery> ready_;  // to be given by poll()
  std::vector<std::uint64_t> over_;
  std::vector<Delivery> came_;
};

}  // namespace ripeline::runtime
