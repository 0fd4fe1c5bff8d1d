#include "runtime/torch/torch_device.h"

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <cstring>
#include <utility>

#include "runtime/torch/gpu_device.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;

class Processor final : public TorchDevice {
 public:
  c10::Device device() const override { return c10::kCPU; }
  std::optional<c10::Stream> stream(core::Engine /*engine*/) const override { return std::nullopt; }
  network::BufferPool* receive_pool() override { return nullptr; }
  network::BufferPool* arena() override { return nullptr; }
  Status copy(Direction /*direction*/, void* onto, const void* from, std::size_t size,
              core::Engine /*engine*/) override {
    std::memcpy(onto, from, size);
    return {};
  }
  Status carry(std::unique_ptr<Transport>& /*transport*/, std::chrono::nanoseconds /*limit*/,
               const Termination* /*termination*/) override {
    return {};
  }
  Status find_nccl(const cuda::NcclLibrary*& /*library*/,
                   std::int32_t& /*version*/) const override {
    return not_a_gpu();
  }
  Status identify(std::string& /*identity*/) const override { return not_a_gpu(); }
  DeviceMemoryUse memory_use() const override { return {}; }
  std::unique_ptr<TaskEngine> make_engine(Work& work, const core::ProgramFacts& /*facts*/,
                                          std::function<void()> wake,
                                          BeforeTask before_task) override {
    return std::make_unique<ThreadEngine>(work, std::move(wake), std::move(before_task));
  }

 private:
  static Status not_a_gpu() { return {StatusCode::refused, "stages are on the host's processor"}; }
};

c10::Stream current_stream(c10::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

// Makes `second` wait for all work that has been enqueued on `first` so far.
Status put_in_order(const c10::Stream& first, const c10::Stream& second) {
  if (first == second) return {};
  try {
    c10::Event event(first.device_type());
    event.record(first);
    event.block(second);
  } catch (const c10::Error& error) {
    return {StatusCode::failed,
            std::string("the device cannot order two streams: ") + error.what_without_backtrace()};
  }
  return {};
}

}  // namespace

Status TorchDevice::open(const std::string& name, int local_rank,
                         std::unique_ptr<TorchDevice>& device) {
  c10::Device asked(c10::kCPU);
  try {
    asked = c10::Device(name);
  } catch (const c10::Error&) {
    return {StatusCode::invalid, "'" + name + "' is no device: `cpu`, `cuda` or `cuda:N`"};
  }
  if (!asked.is_cpu()) return open_gpu(asked, local_rank, device);
  device = std::make_unique<Processor>();
  return {};
}

c10::Device device_of(const TorchDevice* device) {
  return device == nullptr ? c10::Device(c10::kCPU) : device->device();
}

std::optional<c10::Stream> stream_of(const TorchDevice* device, core::Engine engine) {
  return device == nullptr ? std::nullopt : device->stream(engine);
}

Status follow_caller(const TorchDevice* device) {
  const std::optional<c10::Stream> stream = stream_of(device);
  return stream ? put_in_order(current_stream(stream->device()), *stream) : Status();
}

Status lead_caller(const TorchDevice* device) {
  const std::optional<c10::Stream> stream = stream_of(device);
  return stream ? put_in_order(*stream, current_stream(stream->device())) : Status();
}

}  // namespace ripeline::runtime
