// TorchDevice: what a rank's stages run on: the host's processor, or a GPU.
//
//   std::unique_ptr<TorchDevice> device;
//   Status status = TorchDevice::open("cuda", environment.local_rank, device);
//   module->to(device->device());
//   model.device = device.get();
//   join_run(facts, environment, transport, configuration, {.device = device.get()});
//
// On a GPU tasks are enqueued on streams of their engines, and have ended when the host has seen
// that they are over (runtime/cuda/stream_engine.h). What stages give each other lies in the GPU's
// memory, and goes from process to process by carriers (runtime/cuda/carriers/device_transport.h).
// Several processes may share a GPU.
//
// What the caller enqueues on its current stream before a step of training comes before the step's
// tasks, and what it enqueues after the step comes after them. So who loads, reads or saves
// parameters between steps need not know of that other stream.
//
// A device is of one rank, belongs to the rank's thread, and outlives its transport, trainer and
// model.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/facts.h"
#include "core/status.h"
#include "runtime/engine.h"
#include "runtime/place.h"
#include "runtime/transport/transport.h"

namespace ripeline::runtime {

class NcclLibrary;

// The memory that one process has used so far.
struct DeviceMemoryUse {
  std::int64_t allocations = 0;  // how often the device was asked for memory, by LibTorch or for
                                 // messages: no more once steps have become alike
  std::int64_t peak = 0;         // bytes that LibTorch had given out at once
};

class Termination;

class TorchDevice {
 public:
  // `cpu`; `cuda`: of several GPUs the one whose turn it is, rank by rank of a host; `cuda:1`. To
  // be called before LibTorch is asked for GPUs in any other way, as torch::manual_seed() does.
  // Makes a GPU current in this thread, and loads LibTorch's half for GPUs. Fails by status: what
  // is missing, and where to get it. A GPU that does not start ends the process after five minutes
  // (runtime/last_wait.h): there is no other way out of a call into its driver.
  static core::Status open(const std::string& name, int local_rank,
                           std::unique_ptr<TorchDevice>& device);

  virtual ~TorchDevice() = default;

  [[nodiscard]] virtual c10::Device device() const = 0;
  // The stream of an engine's tasks: `copy_out` and `copy_in` have one each, and all others that on
  // which stages compute. None on the host's processor.
  [[nodiscard]] virtual std::optional<c10::Stream> stream(core::Engine engine) const = 0;
  // Where a transport puts what arrives: memory of the host, pinned; any thread. Null: where it
  // likes.
  [[nodiscard]] virtual Place* place() = 0;
  // Likewise, where `offload` puts what leaves the device: by itself, since its buffers are large.
  [[nodiscard]] virtual Place* arena() = 0;
  // Bytes between the device's memory and that of arena(). On a GPU enqueued on the stream of the
  // engine, and both sides must stay until the host has seen that it is over; on the host's
  // processor it is over at once. Any thread.
  enum class Direction { to_host, to_device };
  virtual core::Status copy(Direction direction, void* onto, const void* from, std::size_t size,
                            core::Engine engine) = 0;
  // Puts what moves parts from and to the device around the transport, which uses place(). All
  // processes do so at once; if it fails, within the limit, then on all of them, and `transport` is
  // null. RIPELINE_CARRIER in the environment says how they are moved; unset: as they can be. Fails
  // as well when the process is told to end; null: the program sees to that.
  virtual core::Status carry(std::unique_ptr<Transport>& transport, std::chrono::nanoseconds limit,
                             const Termination* termination) = 0;
  // How that is, for people: "ipc with rank 1". Empty on the host's processor.
  [[nodiscard]] virtual std::string carriers() const { return {}; }
  // For sums over members and replicas (runtime/torch/groups.h): NCCL, which stays loaded, and its
  // version. Refused: it is not here.
  virtual core::Status find_nccl(const NcclLibrary*& library, std::int32_t& version) const = 0;
  // Which device it is among those of all hosts: equal for processes that share one.
  virtual core::Status identify(std::string& identity) const = 0;
  // Zeros on the host's processor, where it is not known.
  [[nodiscard]] virtual DeviceMemoryUse memory_use() const = 0;
  // An engine for the work's tasks; arguments as of ThreadEngine. Work and facts are borrowed.
  [[nodiscard]] virtual std::unique_ptr<TaskEngine> make_engine(Work& work,
                                                                const core::ProgramFacts& facts,
                                                                std::function<void()> wake,
                                                                BeforeTask before_task) = 0;
};

// Null: the host's processor.
[[nodiscard]] c10::Device device_of(const TorchDevice* device);
[[nodiscard]] std::optional<c10::Stream> stream_of(const TorchDevice* device,
                                                   core::Engine engine = core::Engine::compute);

// The stages' stream does nothing further before what the caller's current one has been given, or
// the other way round. The host waits for neither.
core::Status follow_caller(const TorchDevice* device);
core::Status lead_caller(const TorchDevice* device);

}  // namespace ripeline::runtime
