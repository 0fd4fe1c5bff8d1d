#include "runtime/torch/forward.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/autocast_mode.h>

#include <mutex>
#include <optional>

#include "core/draw.h"
#include "runtime/torch/value_codec.h"

namespace ripeline::runtime {
namespace {

using torch::IValue;
using torch::ScalarType;
using torch::Tensor;

void seed_generator(std::uint64_t seed, const ForwardPlace& place) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  generator.set_current_seed(core::draw_bits(
      seed, {static_cast<std::uint64_t>(place.step), static_cast<std::uint64_t>(place.microbatch),
             static_cast<std::uint64_t>(place.stage)}));
}

// Autocast on this thread, for as long as it lives.
class AutocastRegion {
 public:
  explicit AutocastRegion(ScalarType type)
      : was_enabled_(at::autocast::is_autocast_enabled(at::kCPU)),
        was_type_(at::autocast::get_autocast_dtype(at::kCPU)),
        was_cached_(at::autocast::is_autocast_cache_enabled()) {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, type);
    at::autocast::set_autocast_cache_enabled(false);
  }
  ~AutocastRegion() {
    at::autocast::set_autocast_enabled(at::kCPU, was_enabled_);
    at::autocast::set_autocast_dtype(at::kCPU, was_type_);
    at::autocast::set_autocast_cache_enabled(was_cached_);
  }
  AutocastRegion(const AutocastRegion&) = delete;
  AutocastRegion& operator=(const AutocastRegion&) = delete;

 private:
  bool was_enabled_;
  ScalarType was_type_;
  bool was_cached_;
};

}  // namespace

IValue run_forward(const TorchModel& model, const TorchStage& stage, const StageInputs& inputs,
                   const ForwardPlace& place) {
  seed_generator(model.seed, place);
  std::optional<AutocastRegion> region;
  if (model.autocast) region.emplace(*model.autocast);
  return stage.forward(inputs);
}

Tensor run_loss(const TorchModel& model, const IValue& output, const ForwardPlace& place) {
  const IValue labels = model.labels(place.step, place.microbatch);
  if (!model.autocast) return model.loss({output, labels}).toTensor();
  const auto to_float = [type = *model.autocast](const Tensor& tensor) {
    return tensor.scalar_type() == type ? tensor.to(torch::kFloat) : tensor;
  };
  return model.loss({with_each(output, to_float), labels}).toTensor();
}

}  // namespace ripeline::runtime
