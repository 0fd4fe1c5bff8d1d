#include "runtime/torch/saved_tensors.h"

#include <c10/core/Storage.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <torch/csrc/autograd/variable.h>

#include <stdexcept>
#include <utility>

namespace ripeline::runtime {
namespace {

using torch::Tensor;
using torch::autograd::Engine;
using torch::autograd::Node;

thread_local SavingRegion::Saved* saved_here = nullptr;

class Hooks final : public torch::autograd::SavedVariableHooks {
 public:
  explicit Hooks(SavingRegion::Saved& saved) : saved_(saved) {}

  // LibTorch calls this right after it has made the hook, and only then.
  void call_pack_hook(const Tensor& tensor) override {
    kept_ = std::make_shared<SavedTensor>(tensor);
    saved_.push_back(kept_);
  }
  Tensor call_unpack_hook() override {
    if (kept_->is_away) throw std::runtime_error("what its forward kept is away: it is offloaded");
    if (kept_->was_written_to()) {
      throw std::runtime_error(
          "a tensor that it needs was written to in place after the forward "
          "had saved it");
    }
    return kept_->tensor;
  }

 private:
  SavingRegion::Saved& saved_;
  std::shared_ptr<SavedTensor> kept_;
};

// An engine that wraps the one that was installed before.
class HookingEngine final : public Engine {
 public:
  explicit HookingEngine(Engine& before) : before_(before) {}

  torch::autograd::variable_list execute(const torch::autograd::edge_list& roots,
                                         const torch::autograd::variable_list& inputs,
                                         bool keep_graph, bool create_graph, bool accumulate_grad,
                                         const torch::autograd::edge_list& outputs) override {
    return before_.execute(roots, inputs, keep_graph, create_graph, accumulate_grad, outputs);
  }
  c10::intrusive_ptr<at::ivalue::Future> execute_with_graph_task(
      const std::shared_ptr<torch::autograd::GraphTask>& task, std::shared_ptr<Node> root,
      torch::autograd::InputBuffer&& input) override {
    return before_.execute_with_graph_task(task, std::move(root), std::move(input));
  }
  std::unique_ptr<torch::autograd::AnomalyMetadata> make_anomaly_metadata() override {
    return before_.make_anomaly_metadata();
  }
  std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override {
    if (saved_here != nullptr) return std::make_unique<Hooks>(*saved_here);
    return before_.get_default_saved_variable_hooks();
  }

 private:
  Engine& before_;
};

// The process's only HookingEngine. Like LibTorch's engine, it lives until the process ends.
Engine& hooking_engine() {
  static Engine& engine = *new HookingEngine(Engine::get_default_engine());
  return engine;
}

void install_engine() {
  [[maybe_unused]] static const bool installed = [] {
    hooking_engine();
    torch::autograd::set_default_engine_stub(&hooking_engine);
    return true;
  }();
  if (&Engine::get_default_engine() == &hooking_engine()) return;
  throw std::runtime_error(
      "nothing can be offloaded: another autograd engine, as that of a Python interpreter, was "
      "loaded after the first forward had run");
}

// A tensor without data, of the same shape and type, on the same device.
Tensor without_data(const Tensor& tensor) {
  Tensor result(tensor.unsafeGetTensorImpl()->shallow_copy_and_detach(
      c10::VariableVersion(0), /*allow_tensor_metadata_change=*/true));
  if (result.has_storage()) {
    result.unsafeGetTensorImpl()->set_storage_keep_dtype(
        c10::Storage(c10::Storage::use_byte_size_t(), 0, at::DataPtr(nullptr, tensor.device()),
                     nullptr, /*resizable=*/false));
  }
  return result;
}

}  // namespace

SavedTensor::SavedTensor(const Tensor& saved)
    : tensor(saved.unsafeGetTensorImpl()->shallow_copy_and_detach(
          saved.unsafeGetTensorImpl()->version_counter(), /*allow_tensor_metadata_change=*/true)),
      version(static_cast<std::uint32_t>(saved._version())) {
  if (!saved.has_storage()) original.emplace(saved.getIntrusivePtr());
}

SavingRegion::SavingRegion(Saved& saved) {
  install_engine();
  outer_ = std::exchange(saved_here, &saved);
}
SavingRegion::~SavingRegion() { saved_here = outer_; }

Tensor output_without_data(const Tensor& output) {
  if (!output.defined()) return output;
  const Tensor result = without_data(output);
  if (!output.requires_grad()) return result;
  return torch::autograd::make_variable(result, torch::autograd::impl::gradient_edge(output));
}

Tensor leaf_without_data(const Tensor& input) {
  if (!input.defined()) return input;
  return without_data(input).requires_grad_(input.requires_grad());
}

std::shared_ptr<void> link_leaf(const Tensor& input, const Tensor& leaf) {
  if (!leaf.defined() || !leaf.requires_grad()) return nullptr;
  input.requires_grad_(true);
  std::shared_ptr<Node> accumulator = torch::autograd::impl::grad_accumulator(leaf);
  torch::autograd::impl::set_grad_accumulator(input, accumulator);
  return accumulator;
}

}  // namespace ripeline::runtime
