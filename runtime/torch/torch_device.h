// TorchDevice: the device on which a rank's stages run: the host's processor, or a GPU.
//
//   std::unique_ptr<TorchDevice> device;
//   Status status = TorchDevice::open("cuda", environment.local_rank, device);
//   module->to(device->device());
//   model.device = device.get();
//   join_run(facts, environment, transport, configuration, {.device = device.get()});
//
// On a GPU tasks are enqueued on the streams of their engines, and count as ended when the host has
// seen their end (runtime/cuda/stream_engine.h). The values that stages send each other are in the
// GPU's memory, and carriers move them between processes
// (runtime/cuda/carriers/device_transport.h). Several processes may share a GPU.
//
// Work that the caller enqueues on its current stream before a step of training runs before the
// step's tasks, and work enqueued after the step runs after them. So code that loads, reads or
// saves parameters between steps need not know of the tasks' streams.
//
// A device belongs to one rank and that rank's thread, and must outlive its transport, trainer and
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
#include "runtime/network/buffer_pool.h"
#include "runtime/transport.h"

namespace ripeline::runtime::cuda {
class NcclLibrary;
}

namespace ripeline::runtime {

// The memory that one process has used so far.
struct DeviceMemoryUse {
  std::int64_t allocations = 0;  // how often the device was asked for memory, by LibTorch or for
                                 // messages; constant once all steps are alike
  std::int64_t peak = 0;         // the most bytes that LibTorch had given out at once
};

class Termination;

class TorchDevice {
 public:
  // `name` is `cpu`; `cuda`, which assigns the GPUs of a host to its ranks in turn; or `cuda:1`.
  // Call this before LibTorch is asked for GPUs in any other way, as torch::manual_seed() does.
  // Makes a GPU current in this thread, and loads LibTorch's part for GPUs. A failure says what is
  // missing, and where to get it. If a GPU does not start, the process ends after five minutes
  // (runtime/watchdog/last_wait.h), since nothing else ends a call into its driver.
  static core::Status open(const std::string& name, int local_rank,
                           std::unique_ptr<TorchDevice>& device);

  virtual ~TorchDevice() = default;

  [[nodiscard]] virtual c10::Device device() const = 0;
  // The stream of an engine's tasks: `copy_out` and `copy_in` have one each, all other engines
  // share the one on which stages compute. nullopt on the host's processor.
  [[nodiscard]] virtual std::optional<c10::Stream> stream(core::Engine engine) const = 0;
  // The pinned memory of the host into which a transport puts arriving parts; any thread. Null if
  // the transport may choose.
  [[nodiscard]] virtual network::BufferPool* receive_pool() = 0;
  // The pinned memory for `offload`, apart from receive_pool() since its buffers are large.
  [[nodiscard]] virtual network::BufferPool* arena() = 0;
  // Copies bytes between the device's memory and that of arena(). On a GPU the copy is enqueued on
  // the engine's stream, and both sides must be kept until the host has seen the copy end; on the
  // host's processor the copy is over on return. Any thread.
  enum class Direction { to_host, to_device };
  virtual core::Status copy(Direction direction, void* onto, const void* from, std::size_t size,
                            core::Engine engine) = 0;
  // Wraps the transport, which uses receive_pool(), in one that moves parts between devices. All
  // processes call this at once. It fails within the limit, on all of them, and `transport` is then
  // null. RIPELINE_CARRIER in the environment chooses the carrier; if it is unset, each pair uses
  // the best one. Also fails when `termination`, unless it is null, tells the process to end.
  virtual core::Status carry(std::unique_ptr<Transport>& transport, std::chrono::nanoseconds limit,
                             const Termination* termination) = 0;
  // Names the carriers in use, for people: "ipc with rank 1". Empty on the host's processor.
  [[nodiscard]] virtual std::string carriers() const { return {}; }
  // Loads NCCL, for sums over members and replicas (runtime/torch/groups.h), and sets its version.
  // NCCL stays loaded. Refused if NCCL is not installed here.
  virtual core::Status find_nccl(const cuda::NcclLibrary*& library,
                                 std::int32_t& version) const = 0;
  // Names this device uniquely among those of all hosts; equal for processes that share a device.
  virtual core::Status identify(std::string& identity) const = 0;
  // The use of memory so far; all zeros on the host's processor, where it is not known.
  [[nodiscard]] virtual DeviceMemoryUse memory_use() const = 0;
  // Makes an engine for the work's tasks, like a ThreadEngine. Work and facts are borrowed.
  [[nodiscard]] virtual std::unique_ptr<TaskEngine> make_engine(Work& work,
                                                                const core::ProgramFacts& facts,
                                                                std::function<void()> wake,
                                                                BeforeTask before_task) = 0;
};

// A null `device` is the host's processor.
[[nodiscard]] c10::Device device_of(const TorchDevice* device);
[[nodiscard]] std::optional<c10::Stream> stream_of(const TorchDevice* device,
                                                   core::Engine engine = core::Engine::compute);

// follow_caller() makes the stages' stream wait for all work so far on the caller's current stream.
// lead_caller() makes the caller's stream wait for the stages'. The host waits for neither.
core::Status follow_caller(const TorchDevice* device);
core::Status lead_caller(const TorchDevice* device);

}  // namespace ripeline::runtime
