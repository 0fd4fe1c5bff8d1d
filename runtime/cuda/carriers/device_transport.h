// DeviceTransport: messages whose parts lie on a device, over any transport of the host's bytes.
//
// Parts go from device to device by a Carrier (runtime/cuda/carriers/carrier.h), which is chosen
// for each neighbour when the processes connect; all else goes over the transport inside. A
// delivery is complete: its parts are there, on this process's device. No copy waits for anything
// but what its own process has enqueued, unless NCCL makes it
// (runtime/cuda/carriers/nccl_carrier.h).
//
//   HostPlace pinned = make_pinned_place();
//   … a transport that puts what arrives into `pinned` …
//   DeviceTransport device(*inner, pinned, memory);
//   if (Status s = device.connect(); …)
//   … device.carriers() says which: "ipc with rank 1, staged with rank 2 (on another host)"
//
// All processes have one, and connect at once. While parts are on their way poll() returns at once.
// Once the device has failed each poll() says so, and still gives what comes: what others say of
// the run. So does that of one that could not connect. All are borrowed, and what the destructor
// finds under way it waits for, or aborts where that could be for ever. finish() also waits until
// no neighbour has memory of this process open. One thread, but for wake(), in which the device is
// current.
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

namespace ripeline::runtime {

struct DeviceTransportOptions {
  // The only one that may be used, the same in all processes. Nothing: what can be, for each pair.
  std::optional<CarrierKind> carrier = std::nullopt;
  std::chrono::nanoseconds connect_limit = std::chrono::seconds(30);
  IpcLimits ipc = {};
  NcclOptions nccl = {};
  const Termination* termination = nullptr;  // heeded while it connects; null: there is none
  std::string host = memory_host();
};

class DeviceTransport final : public Transport {
 public:
  DeviceTransport(Transport& inner, Place& pinned, const DeviceMemory& memory,
                  DeviceTransportOptions options = {});
  ~DeviceTransport() override;
  DeviceTransport(const DeviceTransport&) = delete;
  DeviceTransport& operator=(const DeviceTransport&) = delete;

  // Once, before anything else. Fails by status, on all processes.
  core::Status connect();
  // Which carriers are in use, for people.
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
  // Flushes what has left the device: a run that fails needs no other data.
  void flush(std::chrono::nanoseconds limit) override { inner_.flush(limit); }

 private:
  struct Peer {
    std::unique_ptr<StagedCarrier> staged;  // for what no other carrier takes
    std::unique_ptr<Carrier> direct;        // null: there is no other
    bool is_gone = false;
    std::optional<Delivery> loss;  // to be told after all that it has sent

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
  // The carriers go on, and losses are told whose time has come.
  void progress();
  // Nothing has come, and something will soon.
  void give_way();
  [[nodiscard]] bool is_busy() const;
  [[nodiscard]] int first_open() const;  // a neighbour with which a carrier is not closed; -1: none
  // The first failure stays. `lost`, from a carrier: it is the peer that is.
  void note(core::Status status);
  void note(int process, core::Status status);

  Transport& inner_;
  Place& pinned_;
  DeviceMemory memory_;
  DeviceTransportOptions options_;
  std::string carriers_;
  Stream to_host_;
  Stream to_device_;
  std::map<int, Peer> peers_;
  std::vector<Delivery> ready_;  // to be given by poll()
  std::vector<Delivery> came_;
  core::Status failure_;     // the device's
  core::Time ran_since_{0};  // when it last gave way
};

}  // namespace ripeline::runtime
