#include "runtime/torch/gpu_device.h"

#include <string>

#ifdef RIPELINE_CUDA
#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <utility>

#include "runtime/cuda/carriers/device_transport.h"
#include "runtime/cuda/nccl/load_nccl.h"
#include "runtime/cuda/stream_engine.h"
#include "runtime/network/system_name.h"
#include "runtime/torch/sync_debug.h"
#include "runtime/watchdog/call_guard.h"
#include "runtime/watchdog/last_wait.h"
#endif

namespace ripeline::runtime {

using core::Status;
using core::StatusCode;

#ifndef RIPELINE_CUDA

Status open_gpu(c10::Device asked, int /*local_rank*/, std::unique_ptr<TorchDevice>& /*device*/) {
  return {StatusCode::refused, "this Ripeline was built without CUDA, so there is no device `" +
                                   asked.str() + "`: configure with -DRIPELINE_CUDA=ON"};
}

#else

namespace {

using c10::impl::VirtualGuardImpl;

// The limit on the time of a start; loading libtorch_cuda.so and starting a GPU take far less.
constexpr std::chrono::minutes kStart{5};

// Copies run beside the compute stream, so they have streams of their own, on which nothing else
// runs. A message's buffer is kept until the host has seen its copies end, so the buffer needs no
// events on these streams (DeviceMemory).
struct Streams {
  c10::Stream compute;
  c10::Stream copy_out;
  c10::Stream copy_in;
};

cudaStream_t handle_of(const c10::Stream& stream) {
  return static_cast<cudaStream_t>(stream.native_handle());
}

class Gpu final : public TorchDevice {
 public:
  explicit Gpu(const Streams& streams)
      : streams_(streams),
        compute_(streams.compute),
        pinned_(cuda::make_pinned_pool()),
        arena_(cuda::make_pinned_pool()),
        memory_(compute_.device_index(), {handle_of(compute_)}) {}

  c10::Device device() const override { return compute_.device(); }
  std::optional<c10::Stream> stream(core::Engine engine) const override {
    if (engine == core::Engine::copy_out) return streams_.copy_out;
    return engine == core::Engine::copy_in ? streams_.copy_in : compute_;
  }
  network::BufferPool* receive_pool() override { return &pinned_; }
  network::BufferPool* arena() override { return &arena_; }
  Status copy(Direction direction, void* onto, const void* from, std::size_t size,
              core::Engine engine) override {
    const bool leaves = direction == Direction::to_host;
    const watchdog::GuardedCall call("cudaMemcpyAsync");
    return cuda::status_of(
        cudaMemcpyAsync(onto, from, size, leaves ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice,
                        handle_of(*stream(engine))),
        leaves ? "copy from the device" : "copy to the device");
  }
  Status carry(std::unique_ptr<Transport>& transport, std::chrono::nanoseconds limit,
               const Termination* termination) override {
    inner_ = std::move(transport);
    cuda::DeviceTransportOptions options;
    options.connect_limit = limit;
    options.termination = termination;
    if (Status s = cuda::read_carrier(options.carrier); !s.ok()) {
      std::vector<Delivery> early;
      cuda::CarrierMeeting(*inner_, limit, early).refuse(s);
      return s;
    }
    if (options.carrier == cuda::CarrierKind::nccl) {
      options.nccl.why_none = cuda::load_nccl(options.nccl.library).message();
    }
    auto device =
        std::make_unique<cuda::DeviceTransport>(*inner_, pinned_, memory_, std::move(options));
    if (Status s = device->connect(); !s.ok()) return s;
    carriers_ = device->carriers();
    transport = std::move(device);
    return {};
  }
  DeviceMemoryUse memory_use() const override {
    const auto stats =
        c10::getDeviceAllocator(compute_.device_type())->getDeviceStats(compute_.device_index());
    constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    return {
        .allocations = stats.num_device_alloc + static_cast<std::int64_t>(memory_.allocations()),
        .peak = stats.allocated_bytes.at(kAll).peak};
  }
  std::string carriers() const override { return carriers_; }
  Status find_nccl(const cuda::NcclLibrary*& library, std::int32_t& version) const override {
    if (Status s = cuda::load_nccl(library); !s.ok()) return s;
    version = library->version();
    return {};
  }
  Status identify(std::string& identity) const override {
    std::string name;
    const Status status = cuda::name_device(compute_.device_index(), name);
    if (status.ok()) identity = network::system_name() + " " + name;
    return status;
  }
  std::unique_ptr<TaskEngine> make_engine(Work& work, const core::ProgramFacts& facts,
                                          std::function<void()> wake,
                                          BeforeTask before_task) override {
    cuda::EngineStreams streams;
    for (const core::Engine engine : core::kAllEngines) {
      streams[static_cast<std::size_t>(engine)] = handle_of(*stream(engine));
    }
    return std::make_unique<cuda::StreamEngine>(work, facts, streams, std::move(wake),
                                                std::move(before_task));
  }

 private:
  Streams streams_;
  c10::Stream compute_;
  network::HostBufferPool pinned_;
  network::HostBufferPool arena_;
  cuda::DeviceMemory memory_;
  std::unique_ptr<Transport> inner_;
  std::string carriers_;
};

// Loads LibTorch's part for GPUs, whose kernels register themselves at that time.
Status load_cuda_half() {
  if (c10::impl::hasDeviceGuardImpl(c10::kCUDA)) return {};
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) != nullptr) return {};
  const char* const why = dlerror();
  return {StatusCode::refused,
          std::string("LibTorch's half for GPUs cannot be loaded: ") +
              (why == nullptr ? "no reason was given" : why) +
              ". It needs NVIDIA's libraries: build Ripeline against a PyTorch that was installed "
              "with them, or name their folders in LD_LIBRARY_PATH (docs/gpu.md)"};
}

// LibTorch runs a device's backwards in a thread. If cuBLAS is the first to use the device in that
// thread, cuBLAS warns that a context is missing; so this runs a backward without cuBLAS first.
void start_backwards(c10::Device device) {
  const at::Tensor one = at::ones({}, at::TensorOptions(device)).requires_grad_();
  one.mul(one).backward();
}

// Counts the usable devices; if there are none, fails with the reason that CUDA gives.
Status count_usable(c10::Device asked, int& count) {
  count = VirtualGuardImpl(asked.type()).deviceCount();
  if (count > 0) return {};
  int visible = 0;
  const Status status = cuda::count_devices(visible);
  return {StatusCode::refused,
          "no GPU can be used here: " + (status.ok() ? "none is visible" : status.message())};
}

}  // namespace

Status open_gpu(c10::Device asked, int local_rank, std::unique_ptr<TorchDevice>& device) {
  const watchdog::LastWait last("the start of `" + asked.str() + "`", kStart);
  // Makes NCCL open all connections when a communicator is made, so that no task has to open one
  // (NCCL 2.28.9, init.cc, initTransportsRank). No other thread exists yet, so setenv() is safe.
  if (asked.is_cuda()) setenv("NCCL_RUNTIME_CONNECT", "0", 0);
  if (asked.is_cuda()) {
    if (Status s = load_cuda_half(); !s.ok()) return s;
    if (Status s = read_sync_debug(); !s.ok()) return s;
  }
  if (!c10::impl::hasDeviceGuardImpl(asked.type())) {
    return {StatusCode::refused,
            "stages run on no device of the kind `" + asked.str() + "`: `cpu`, `cuda` or `cuda:N`"};
  }
  int count = 0;
  if (Status s = count_usable(asked, count); !s.ok()) return s;
  if (asked.is_cuda() && !at::globalContext().hasCUDA()) {
    return {StatusCode::refused,
            "LibTorch was asked for GPUs before its half for them was loaded, and remembers that "
            "there was none: open the device first in the program"};
  }
  const int index = asked.has_index() ? asked.index() : local_rank % count;
  if (index >= count) {
    return {StatusCode::refused, "there is no device `" + asked.str() + "`: this host has " +
                                     std::to_string(count) + ", numbered from 0"};
  }
  if (Status s = cuda::use_device(index); !s.ok()) return s;
  try {
    const c10::Device chosen(asked.type(), static_cast<c10::DeviceIndex>(index));
    const VirtualGuardImpl guard(chosen.type());
    guard.setDevice(chosen);
    start_backwards(chosen);
    const auto make_stream = [&] { return guard.getStreamFromGlobalPool(chosen); };
    device = std::make_unique<Gpu>(
        Streams{.compute = make_stream(), .copy_out = make_stream(), .copy_in = make_stream()});
  } catch (const c10::Error& error) {
    return {StatusCode::failed, "LibTorch cannot use the device `" + asked.str() +
                                    "`: " + error.what_without_backtrace()};
  }
  return {};
}

#endif

}  // namespace ripeline::runtime
