// TorchStage: one stage of a model, from any torch::nn module or function of one tensor.
//
//   auto block = torch::nn::Sequential(torch::nn::Linear(8, 8), torch::nn::Tanh());
//   model.stages[2] = make_stage(block);
//
// The function may run for several microbatches before the first backward, so it must not keep
// state between calls that its gradient depends on. Tensors are shared with whoever made them.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ripeline::runtime {

struct NamedTensor {
  std::string name;
  torch::Tensor tensor;
};

struct TorchStage {
  std::function<torch::Tensor(const torch::Tensor& input)> forward;
  std::vector<NamedTensor> parameters;  // what is trained; names are for reports
};

// What one rank trains: its stages by number, and what the ends of the pipeline need. The loss
// is the mean over the microbatches of what `loss` returns.
struct TorchModel {
  std::map<int, TorchStage> stages;
  // The first stage's input of a microbatch; the rank of the first stage needs it.
  std::function<torch::Tensor(std::int64_t step, int microbatch)> input;
  // The labels and the loss, a scalar; the rank of the last stage needs both.
  std::function<torch::Tensor(std::int64_t step, int microbatch)> labels;
  std::function<torch::Tensor(const torch::Tensor& output, const torch::Tensor& labels)> loss;
};

// `module` is a module holder (torch::nn::Linear, your TORCH_MODULE) or a shared_ptr to a module
// with forward(Tensor).
template <typename Module>
TorchStage make_stage(Module module) {
  TorchStage stage;
  for (const auto& item : module->named_parameters()) {
    if (item.value().requires_grad()) stage.parameters.push_back({item.key(), item.value()});
  }
  stage.forward = [module](const torch::Tensor& input) mutable { return module->forward(input); };
  return stage;
}

}  // namespace ripeline::runtime
