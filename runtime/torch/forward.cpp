#include "runtime/torch/forward.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>

#include <mutex>
#include <optional>

#include "core/draw.h"
#include "runtime/torch/torch_device.h"
#include "runtime/torch/value_codec.h"

namespace ripeline::runtime {
namespace {

using torch::IValue;
using torch::ScalarType;
using torch::Tensor;

void seed_generator(c10::Device device, std::uint64_t seed) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard lock(generator.mutex());
  generator.set_current_seed(seed);
}

void seed_generators(const TorchModel& model, const ForwardId& id) {
  const std::uint64_t seed = core::draw_bits(
      model.seed, {static_cast<std::uint64_t>(id.step), static_cast<std::uint64_t>(id.microbatch),
                   static_cast<std::uint64_t>(id.stage)});
  seed_generator(c10::kCPU, seed);
  if (const c10::Device device = device_of(model.device); !device.is_cpu()) {
    seed_generator(device, seed);
  }
}

// Turns autocast on in this thread, for as long as the object lives.
class AutocastRegion {
 public:
  AutocastRegion(c10::DeviceType device, ScalarType type)
      : device_(device),
        was_enabled_(at::autocast::is_autocast_enabled(device)),
        was_type_(at::autocast::get_autocast_dtype(device)),
        was_cached_(at::autocast::is_autocast_cache_enabled()) {
    at::autocast::set_autocast_enabled(device_, true);
    at::autocast::set_autocast_dtype(device_, type);
    at::autocast::set_autocast_cache_enabled(false);
  }
  ~AutocastRegion() {
    at::autocast::set_autocast_enabled(device_, was_enabled_);
    at::autocast::set_autocast_dtype(device_, was_type_);
    at::autocast::set_autocast_cache_enabled(was_cached_);
  }
  AutocastRegion(const AutocastRegion&) = delete;
  AutocastRegion& operator=(const AutocastRegion&) = delete;

 private:
  c10::DeviceType device_;
  bool was_enabled_;
  ScalarType was_type_;
  bool was_cached_;
};

}  // namespace

IValue on_device(const TorchModel& model, const IValue& value) {
  const c10::Device device = device_of(model.device);
  if (device.is_cpu()) return value;
  return with_each(value, [device](const Tensor& tensor) {
    // A copy from memory that is not pinned would wait for the stream.
    return tensor.is_cpu() ? tensor.pin_memory().to(device, /*non_blocking=*/true) : tensor;
  });
}

IValue run_forward(const TorchModel& model, const TorchStage& stage, const StageInputs& inputs,
                   const ForwardId& id) {
  seed_generators(model, id);
  std::optional<AutocastRegion> region;
  if (model.autocast) region.emplace(device_of(model.device).type(), *model.autocast);
  return stage.forward(inputs);
}

Tensor run_loss(const TorchModel& model, const IValue& output, const ForwardId& id) {
  const IValue labels = on_device(model, model.labels(id.step, id.microbatch));
  if (!model.autocast) return model.loss({output, labels}).toTensor();
  const auto to_float = [type = *model.autocast](const Tensor& tensor) {
    return tensor.scalar_type() == type ? tensor.to(torch::kFloat) : tensor;
  };
  return model.loss({with_each(output, to_float), labels}).toTensor();
}

}  // namespace ripeline::runtime
