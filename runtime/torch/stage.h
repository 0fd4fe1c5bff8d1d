// TorchStage: one stage of a model, from any torch::nn module or function.
//
//   auto block = torch::nn::Sequential(torch::nn::Linear(8, 8), torch::nn::Tanh());
//   model.stages[2] = make_stage(block);
//
// Stages pass values to each other, each a torch::IValue: tensors, or tuples, lists and
// dictionaries of tensors at any depth. A stage gets a value from each stage whose forward it
// needs, in the order of their numbers, and then its own data if the model has some for it. The
// stage returns one value, the same for all stages that need it. So
//
//   [](const torch::Tensor& x) { return x.tanh(); }
//   [](const torch::Tensor& image, const torch::Tensor& text) { return torch::cat({image, text}); }
//   [](const StageInputs& inputs) { return std::make_tuple(…); }
//
// are stages of one input, of two, and of any number and type. A function may run for several
// microbatches before the first backward, so no gradient may depend on state that the function
// keeps between calls. Tensors are shared with the code that made them.
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/torch/group.h"
#include "runtime/torch/share.h"

namespace ripeline::runtime {

class TorchDevice;

using StageInputs = std::vector<torch::IValue>;

// A function of values, made from a function of up to seven tensors or of StageInputs. A call
// throws what that function throws, and std::invalid_argument if the number of tensors is wrong.
class ValueFunction {
 public:
  ValueFunction() = default;
  ValueFunction(std::nullptr_t) {}
  template <class Function>
  requires(!std::is_same_v<std::decay_t<Function>, ValueFunction>) ValueFunction(Function function)
      : function_([function = std::move(function)](const StageInputs& inputs) mutable {
          return call(function, inputs);
        }) {}

  explicit operator bool() const { return function_ != nullptr; }
  torch::IValue operator()(const StageInputs& inputs) const { return function_(inputs); }

 private:
  static constexpr std::size_t kMostTensors = 7;

  // Tries tensors first, since a generic lambda may not compile with any other argument.
  template <class Function, class... Tensors>
  static constexpr bool takes_tensors() {
    if constexpr (sizeof...(Tensors) > 0) {
      if (std::is_invocable_v<Function&, const Tensors&...>) return true;
    }
    if constexpr (sizeof...(Tensors) < kMostTensors) {
      return takes_tensors<Function, Tensors..., torch::Tensor>();
    }
    return false;
  }

  template <class Function, class... Tensors>
  static torch::IValue call(Function& function, const StageInputs& inputs,
                            const Tensors&... tensors) {
    constexpr std::size_t count = sizeof...(Tensors);
    if constexpr (!takes_tensors<Function>()) {
      return function(inputs);
    } else {
      if constexpr (count > 0 && std::is_invocable_v<Function&, const Tensors&...>) {
        if (count == inputs.size()) return function(tensors...);
      }
      if constexpr (count < kMostTensors) {
        if (count < inputs.size())
          return call(function, inputs, tensors..., inputs[count].toTensor());
      }
      throw std::invalid_argument("its function does not take " + std::to_string(inputs.size()) +
                                  (inputs.size() == 1 ? " tensor" : " tensors"));
    }
  }

  std::function<torch::IValue(const StageInputs&)> function_;
};

struct NamedTensor {
  std::string name;
  torch::Tensor tensor;
  TensorShare share = {};  // the part of its parameter that `tensor` is
  // Tied weights: copies of one parameter at several stages have the same name here. The copies
  // must have equal first values; an op `user` adds up their gradients, so they stay equal.
  std::string tied = {};
};

// A module whose parameters are, or may be, parts of the parameters of an undivided module.
struct SharedModule {
  virtual ~SharedModule() = default;
  // The share of a parameter of the module itself, not of a submodule.
  [[nodiscard]] virtual TensorShare share_of(const torch::Tensor& parameter) const = 0;
};

struct TorchStage {
  ValueFunction forward;
  std::vector<NamedTensor> parameters;  // those that are trained; reports use the names
  // Activation recomputation: the stage keeps only the inputs of a microbatch, and runs its forward
  // again, with the same draws, right before the backward, or in an op `recompute` if the program
  // has one. The forward must not change its inputs in place. Any other state that the forward
  // changes, such as a running mean, is changed twice.
  bool recompute = false;
};

// The data of a microbatch of a step. With several passes to a step (TrainerOptions), microbatches
// are numbered over all passes.
using StageData = std::function<torch::IValue(std::int64_t step, int microbatch)>;

// The part of a model that one rank trains: its stages by number, and the data, labels and loss
// that these need. A step's loss is the mean of `loss` over its microbatches.
struct TorchModel {
  std::map<int, TorchStage> stages;
  // A stage's own data, which is the only input of a stage that needs no other stage. Entries for
  // stages of other ranks are not called.
  std::map<int, StageData> inputs;
  // The labels and the loss, a scalar; the rank of the last stage needs both.
  StageData labels;
  ValueFunction loss;  // takes output and labels
  // The device on which the stages' parameters are, and to which data and labels are copied. It is
  // borrowed; null for the host's processor.
  TorchDevice* device = nullptr;
  // The seed of the stages' random draws as they run, such as dropout's (runtime/torch/forward.h).
  std::uint64_t seed = 0;
  // Mixed precision: forwards run under LibTorch's autocast to this type, torch::kBFloat16 or
  // torch::kHalf. Parameters and their gradients keep their types, the loss is computed in float32.
  // A value between stages has the type with which its stage returns it.
  std::optional<torch::ScalarType> autocast = std::nullopt;
  // Data parallelism: the group over which an op `reduce` sums the gradients of its stage. Each
  // replica has different microbatches, numbered consecutively over the replicas, and the loss is
  // the mean over the microbatches of all replicas.
  Group replicas = {};
};

// `module` is a module holder (torch::nn::Linear, your TORCH_MODULE) or a shared_ptr to a module.
// Its forward takes the same arguments as a stage's function.
template <typename Module>
TorchStage make_stage(Module module) {
  TorchStage stage;
  std::map<const void*, TensorShare> shares;  // by parameter
  std::set<const void*> known;
  for (const auto& part : module->modules()) {
    const auto* shared = dynamic_cast<const SharedModule*>(part.get());
    if (shared == nullptr) continue;
    for (const torch::Tensor& own : part->parameters(/*recurse=*/false)) {
      shares[own.unsafeGetTensorImpl()] = shared->share_of(own);
    }
  }
  for (const auto& item : module->named_parameters()) {
    const void* const identity = item.value().unsafeGetTensorImpl();
    // A parameter that submodules share is listed once.
    if (!item.value().requires_grad() || !known.insert(identity).second) continue;
    const auto share = shares.find(identity);
    stage.parameters.push_back(
        {item.key(), item.value(), share == shares.end() ? TensorShare{} : share->second});
  }
  // Written so that std::is_invocable can tell which inputs the module takes.
  const auto forward = [](auto& of, const auto&... inputs) -> decltype(of->forward(inputs...)) {
    return of->forward(inputs...);
  };
  stage.forward =
      [module, forward](
          const auto&... inputs) mutable -> decltype(forward(std::declval<Module&>(), inputs...)) {
    return forward(module, inputs...);
  };
  return stage;
}

}  // namespace ripeline::runtime
