#include "proptests/torch/graph_model.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/draw.h"
#include "runtime/torch/forward.h"
#include "runtime/torch/tensor_parallel.h"
#include "runtime/torch/value_codec.h"

namespace ripeline::proptests {
namespace {

using runtime::NamedTensor;
using runtime::StageInputs;
using runtime::TorchModel;
using runtime::TorchStage;
using torch::IValue;
using torch::Tensor;

constexpr std::int64_t kWidth = 8;  // a multiple of four, the most members
constexpr std::int64_t kBatch = 3;
constexpr int kMostInputs = 8;  // the most tensors that a stage receives

Tensor random_tensor(std::uint64_t seed, std::vector<std::int64_t> shape) {
  auto generator = at::detail::createCPUGenerator(seed);
  return torch::randn(shape, generator);
}

std::uint64_t drawn(const GraphModel& model, int stage, std::uint64_t what) {
  return core::draw_bits(model.seed, {static_cast<std::uint64_t>(stage), what});
}

// The result of a stage: the sum of two tensors, or both in a tuple, a list or a dictionary.
IValue packed(std::uint64_t how, const Tensor& a, const Tensor& b) {
  switch (how % 4) {
    case 0:
      return a + b;
    case 1:
      return std::make_tuple(a, b);
    case 2:
      return std::vector<Tensor>{a, b};
    default:
      c10::Dict<std::string, Tensor> named;
      named.insert("a", a);
      named.insert("b", b);
      return named;
  }
}

bool has_data(const GraphModel& model, int stage) {
  return producers_of(model.facts, stage).empty() || drawn(model, stage, 1) % 4 == 0;
}

runtime::StageData data_of(const GraphModel& model, int stage) {
  return [seed = drawn(model, stage, 2)](std::int64_t step, int microbatch) {
    return random_tensor(core::draw_bits(seed, {static_cast<std::uint64_t>(step),
                                                static_cast<std::uint64_t>(microbatch)}),
                         {kBatch, kWidth});
  };
}

Tensor loss_of(const Tensor& output, const Tensor& labels) {
  return torch::mse_loss(output, labels);
}

// A model with labels and loss, but without stages.
TorchModel make_ends(const GraphModel& model) {
  TorchModel result;
  result.labels = data_of(model, model.facts.stages);
  result.loss = loss_of;
  if (model.is_narrow) result.autocast = torch::kBFloat16;
  return result;
}

// The layers of a stage, one for each input tensor. The sum of their outputs goes through a
// non-linear function and another layer, then through a norm and a weight that is used twice.
struct LayersImpl : torch::nn::Module {
  LayersImpl(const GraphModel& of, int of_stage, const runtime::Group& members)
      : model(of), stage(of_stage) {
    for (int i = 0; i < kMostInputs; ++i) {
      in.push_back(register_module("in" + std::to_string(i),
                                   runtime::ColumnParallelLinear(linear(i == 0), members)));
    }
    out = register_module("out", runtime::RowParallelLinear(linear(true), members));
    scale = register_parameter("scale", drawn_values({kWidth}));
    shift = register_parameter("shift", drawn_values({kWidth}));
    twice = register_parameter("twice", drawn_values({kWidth, kWidth}));
  }

  IValue forward(const StageInputs& inputs) {
    Tensor sum;
    std::size_t next = 0;
    for (const IValue& input : inputs) {
      for (const Tensor& tensor : runtime::tensors_of(input)) {
        const Tensor term = in.at(next++)(tensor);
        sum = sum.defined() ? sum + term : term;
      }
    }
    const Tensor x = torch::tanh(torch::layer_norm(out(torch::tanh(sum)), {kWidth}, scale, shift));
    return packed(how, x.matmul(twice), torch::sin(x.matmul(twice)));
  }

  Tensor drawn_values(std::vector<std::int64_t> shape) {
    return random_tensor(drawn(model, stage, 100 + draws++), std::move(shape)) * 0.3;
  }
  torch::nn::Linear linear(bool has_bias) {
    torch::nn::Linear layer(torch::nn::LinearOptions(kWidth, kWidth).bias(has_bias));
    const torch::NoGradGuard no_grad;
    for (Tensor& parameter : layer->parameters())
      parameter.copy_(drawn_values(parameter.sizes().vec()));
    return layer;
  }

  GraphModel model;
  int stage;
  std::uint64_t how = stage == model.facts.stages - 1 ? 0 : drawn(model, stage, 3);
  std::uint64_t draws = 0;
  std::vector<runtime::ColumnParallelLinear> in;
  runtime::RowParallelLinear out{nullptr};
  Tensor scale, shift, twice;
};
TORCH_MODULE(Layers);

}  // namespace

std::vector<int> producers_of(const core::ProgramFacts& facts, int stage) {
  std::vector<int> stages;
  const auto is_forward = [&facts](const core::LaneFacts& lane) {
    return facts.ops[static_cast<std::size_t>(lane.op)].kind == core::OpKind::forward;
  };
  for (const core::EdgeFacts& edge : facts.edges) {
    const core::LaneFacts& from = facts.lanes[static_cast<std::size_t>(edge.producer)];
    const core::LaneFacts& to = facts.lanes[static_cast<std::size_t>(edge.consumer)];
    if (to.stage == stage && from.stage != stage && is_forward(from) && is_forward(to))
      stages.push_back(from.stage);
  }
  std::sort(stages.begin(), stages.end());
  return stages;
}

TorchStage make_stage(const GraphModel& model, int stage, const runtime::Group& members) {
  return runtime::make_stage(Layers(model, stage, members));
}

TorchModel make_model(const GraphModel& model, int rank, const runtime::Group& members) {
  TorchModel result = make_ends(model);
  for (const core::LaneFacts& lane : model.facts.lanes) {
    if (lane.rank != rank || result.stages.contains(lane.stage)) continue;
    result.stages[lane.stage] = make_stage(model, lane.stage, members);
    result.stages[lane.stage].recompute = model.recomputes && drawn(model, lane.stage, 4) % 2 == 0;
    if (has_data(model, lane.stage)) result.inputs[lane.stage] = data_of(model, lane.stage);
  }
  return result;
}

namespace {

// Trains on the microbatches from `first` to end - 1. The step has `all` microbatches.
WholeModel train_part(const GraphModel& model, std::int64_t step, int first, int end, int all) {
  WholeModel whole;
  const int stages = model.facts.stages;
  const TorchModel ends = make_ends(model);
  for (int stage = 0; stage < stages; ++stage) whole.stages.push_back(make_stage(model, stage, {}));
  for (int microbatch = first; microbatch < end; ++microbatch) {
    std::vector<IValue> outputs;
    for (int stage = 0; stage < stages; ++stage) {
      StageInputs inputs;
      for (const int producer : producers_of(model.facts, stage)) {
        inputs.push_back(outputs[static_cast<std::size_t>(producer)]);
      }
      if (has_data(model, stage)) inputs.push_back(data_of(model, stage)(step, microbatch));
      outputs.push_back(run_forward(ends, whole.stages[static_cast<std::size_t>(stage)], inputs,
                                    {step, microbatch, stage}));
    }
    const Tensor loss = run_loss(ends, outputs.back(), {step, microbatch}) / all;
    loss.backward();
    whole.loss += loss.item<double>();
  }
  return whole;
}

}  // namespace

WholeModel train_whole(const GraphModel& model, std::int64_t step, int microbatches, int replicas) {
  const int all = microbatches * replicas;
  WholeModel whole = train_part(model, step, 0, microbatches, all);
  for (int first = microbatches; first < all; first += microbatches) {
    const WholeModel part = train_part(model, step, first, first + microbatches, all);
    whole.loss += part.loss;
    for (std::size_t stage = 0; stage < whole.stages.size(); ++stage) {
      const std::vector<NamedTensor>& added = part.stages[stage].parameters;
      for (std::size_t i = 0; i < added.size(); ++i) {
        const Tensor& gradient = added[i].tensor.grad();
        if (gradient.defined()) whole.stages[stage].parameters[i].tensor.mutable_grad() += gradient;
      }
    }
  }
  return whole;
}

}  // namespace ripeline::proptests
