// DeviceTransport: messages whose parts lie on a device, over any transport of the host's bytes.
//
// Parts go from device to device by a Carrier (runtime/cuda/carriers/carrier.h), which is chosen
// for each neighbour when the processes connect; all else goes over an inner transport. A
// delivery is complete: all its parts are on this process's device. A copy waits only for work
// that its own process has enqueued, except for copies by NCCL
// (runtime/cuda/carriers/nccl_carrier.h).
//
//   HostBufferPool pinned = make_pinned_pool();
//   … a transport that puts what arrives into `pinned` …
//   DeviceTransport device(*inner, pinned, memory);
//   if (Status s = device.connect(); …)
//   … device.carriers() says which: "ipc with rank 1, staged with rank 2 (on another host)"
//
// All processes have a DeviceTransport, and connect at the same time. While parts are on their way
// poll() returns at once. Once the device or connect() has failed, each poll() fails, but still
// returns deliveries, in which others may report on the run. All arguments are borrowed. The
// destructor waits for moves under way, or aborts those that might never end. finish() also waits
// until no neighbour has memory of this process open. All calls but wake() come from one thread, in
// which the device is current.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cuda/carriers/carrier_choice.h"
#include "runtime/cuda/carriers/ipc_carrier.h"
#include "runtime/cuda/carriers/nccl_start.h"
#include "runtime/cuda/carriers/staged_carrier.h"

namespace ripeline::runtime::cuda {

struct DeviceTransportOptions {
  // The carrier that all processes must use; if nullopt, each pair uses the best one.
  std::optional<CarrierKind> carrier = std::nullopt;
  std::chrono::nanoseconds connect_limit = std::chrono::seconds(30);
  IpcLimits ipc = {};
  NcclOptions nccl = {};
  const Termination* termination = nullptr;  // if not null, can end connect()
  std::string host = memory_host();
};

class DeviceTransport final : public Transport {
 public:
  DeviceTransport(Transport& inner, network::BufferPool& pinned, const DeviceMemory& memory,
                  DeviceTransportOptions options = {});
  ~DeviceTransport() override;
  DeviceTransport(const DeviceTransport&) = delete;
  DeviceTransport& operator=(const DeviceTransport&) = delete;

  // Must be called once, before anything else. If it fails on one process, it fails on all.
  core::Status connect();
  // Names the carriers that are in use, for people.
  [[nodiscard]] const std::string& carriers() const { return carriers_; }

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
  // Flushes only messages that have left the device, since a run that fails needs no other data.
  void flush(std::chrono::nanoseconds limit) override { inner_.flush(limit); }

 private:
  struct Peer {
    std::unique_ptr<StagedCarrier> staged;  // for messages that `direct` does not take
    std::unique_ptr<Carrier> direct;        // null if all messages are staged
    bool is_gone = false;
    std::optional<Delivery> loss;  // to be delivered after all that the peer has sent

    [[nodiscard]] Carrier& carrier_of(const Envelope& envelope, const Payload& payload) const;
    [[nodiscard]] bool is_expecting() const;
    [[nodiscard]] bool is_busy() const;
    [[nodiscard]] bool is_idle() const;
  };

  core::Status make_carriers(CarrierMeeting& meeting, const CarrierChoice& choice);
  core::Status make_staged();
  core::Status look(std::chrono::nanoseconds wait);
  void take(Delivery delivery);
  static void lose(Peer& peer, Delivery loss);
  // Advances the carriers, and delivers the loss of each peer that has no message left to deliver.
  void progress();
  // Yields the processor now and then while something is expected to arrive soon.
  void give_way();
  [[nodiscard]] bool is_busy() const;
  [[nodiscard]] int first_open() const;  // a neighbour whose carrier is not closed; -1 if none
  // note() keeps the first failure. But `lost` from the carrier of `process` is that peer's loss.
  void note(core::Status status);
  void note(int process, core::Status status);

  Transport& inner_;
  network::BufferPool& pinned_;
  DeviceMemory memory_;
  DeviceTransportOptions options_;
  std::string carriers_;
  Stream to_host_;
  Stream to_device_;
  std::map<int, Peer> peers_;
  std::vector<Delivery> ready_;  // the next poll() returns these
  std::vector<Delivery> came_;
  core::Status failure_;     // the device's
  core::Time ran_since_{0};  // when the thread last gave way
};

}  // namespace ripeline::runtime::cuda
