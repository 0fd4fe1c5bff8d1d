#include "runtime/torch/torch_work.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <string>

#include "core/draw.h"
#include "runtime/torch/group.h"
#include "runtime/torch/torch_check.h"
#include "runtime/torch/torch_edges.h"
#include "runtime/torch/value_codec.h"

namespace ripeline::runtime {
namespace {

using core::OpKind;
using core::Status;
using core::StatusCode;
using torch::IValue;
using torch::Tensor;

Status failed(const TaskInfo& task, const std::string& what) {
  return {StatusCode::failed, std::to_string(task.stage) + std::string(task.op) +
                                  std::to_string(task.microbatch) + ": " + what};
}

std::string shape_of(const Tensor& tensor) {
  std::string text = "[";
  for (std::int64_t extent : tensor.sizes()) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(extent);
  }
  return text + "]";
}

bool is_last(const TaskInfo& task) { return task.stage == task.stages - 1; }

// Whether it is what `task` computes with.
bool carries(const Input& input, const TaskInfo& task, Carried what) {
  return input.microbatch == task.microbatch && carried(input.kind, task.kind) == what;
}

Status encode(const TaskInfo& task, const IValue& value, Payload& payload) {
  Status status = encode_value(value, payload);
  return status.ok() ? status : failed(task, status.message());
}

// To all that compute with it.
Status give(Call& call, const IValue& value) {
  Payload payload;
  for (Output& output : call.outputs) {
    if (carried(call.task.kind, output.kind) == Carried::nothing) continue;
    if (payload.empty()) {
      if (Status status = encode(call.task, value, payload); !status.ok()) return status;
    }
    output.payload = payload;
  }
  return {};
}

void pass_on(Call& call) {
  const auto filled = std::find_if(call.inputs.begin(), call.inputs.end(),
                                   [](const Input& input) { return !input.payload.empty(); });
  if (filled != call.inputs.end()) call.give(filled->payload);
}

}  // namespace

void seed_forward(std::uint64_t seed, std::int64_t step, int microbatch, int stage) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  generator.set_current_seed(core::draw_bits(
      seed, {static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(microbatch),
             static_cast<std::uint64_t>(stage)}));
}

Status TorchWork::check(const core::ProgramFacts& facts, int rank) const {
  return check_model(model_, facts, rank);
}

Status TorchWork::begin_step(std::int64_t /*step*/, int /*microbatches*/) {
  saved_.clear();
  deferred_.clear();
  losses_.clear();
  return {};
}

void TorchWork::zero_gradients() {
  for (auto& [number, stage] : model_.stages) {
    for (NamedTensor& parameter : stage.parameters) parameter.tensor.mutable_grad().reset();
  }
}

double TorchWork::loss() const {
  double sum = 0;
  for (const auto& [microbatch, loss] : losses_) sum += loss;
  return sum;
}

Status TorchWork::run(Call& call) {
  const TaskInfo& task = call.task;
  Status status;
  try {
    if (task.kind == OpKind::forward) {
      status = forward(call);
    } else if (computes_gradients(task.kind)) {
      status = backward(call);
    } else if (task.kind == OpKind::backward_weight) {
      status = weight(task);
    } else if (task.kind == OpKind::plain) {
      pass_on(call);
    } else {
      status = failed(task, "LibTorch stages run no op of this kind");
    }
  } catch (const GroupFailed& error) {
    status = {StatusCode::lost, failed(task, error.what()).message()};  // of others
  } catch (const c10::Error& error) {
    status = failed(task, error.what_without_backtrace());
  } catch (const std::exception& error) {
    status = failed(task, error.what());
  } catch (...) {
    status = failed(task, "an exception of an unknown type");
  }
  // Graphs of a step that will not be finished hold memory for nothing.
  if (!status.ok()) {
    saved_.clear();
    deferred_.clear();
  }
  return status;
}

// What other stages gave, in the order of their numbers, as leaves; then the stage's own data.
Status TorchWork::take_inputs(Call& call, StageInputs& values, Saved& saved) const {
  const TaskInfo& task = call.task;
  std::stable_sort(call.inputs.begin(), call.inputs.end(),
                   [](const Input& a, const Input& b) { return a.stage < b.stage; });
  for (Input& input : call.inputs) {
    if (!carries(input, task, Carried::activation)) continue;
    IValue& value = values.emplace_back();
    if (Status status = decode_value(std::move(input.payload), value); !status.ok()) {
      return failed(task, "its input is " + status.message());
    }
    saved.inputs.push_back({.stage = input.stage, .tensors = tensors_of(value)});
    for (Tensor& tensor : saved.inputs.back().tensors) {
      if (tensor.defined() && tensor.is_floating_point()) tensor.requires_grad_(true);
    }
  }
  if (const auto data = model_.inputs.find(task.stage); data != model_.inputs.end()) {
    values.push_back(data->second(task.step, task.microbatch));
  }
  return values.empty() ? failed(task, "it gets no input") : Status();
}

Status TorchWork::take_loss(const TaskInfo& task, const IValue& output, Saved& saved) {
  if (!model_.loss || !model_.labels) {
    return failed(task, "no `labels` and `loss` functions were given");
  }
  const Tensor loss = model_.loss({output, model_.labels(task.step, task.microbatch)}).toTensor();
  if (loss.numel() != 1) {
    return failed(task, "the loss is no scalar, its shape is " + shape_of(loss));
  }
  saved.outputs = {loss / task.microbatches};
  losses_[task.microbatch] = saved.outputs[0].item<double>();
  return {};
}

Status TorchWork::forward(Call& call) {
  const TaskInfo& task = call.task;
  const auto stage = model_.stages.find(task.stage);
  if (stage == model_.stages.end()) return failed(task, "the model has no such stage here");
  Saved saved;
  StageInputs values;
  if (Status status = take_inputs(call, values, saved); !status.ok()) return status;
  seed_forward(model_.seed, task.step, task.microbatch, task.stage);
  const IValue output = stage->second.forward(values);
  if (Status status = give(call, output); !status.ok()) return status;
  if (is_last(task)) {
    if (Status status = take_loss(task, output, saved); !status.ok()) return status;
  } else {
    saved.outputs = tensors_of(output);
  }
  saved_[{task.stage, task.microbatch}] = std::move(saved);
  return {};
}

Status TorchWork::take_gradients(Call& call, const Saved& saved, std::vector<Tensor>& outputs,
                                 std::vector<Tensor>& gradients) const {
  const TaskInfo& task = call.task;
  if (is_last(task)) {
    outputs = saved.outputs;
    gradients = {torch::ones_like(outputs[0])};
    return {};
  }
  std::vector<Tensor> sums(saved.outputs.size());
  std::stable_sort(call.inputs.begin(), call.inputs.end(),
                   [](const Input& a, const Input& b) { return a.stage > b.stage; });
  bool has_any = false;
  for (Input& input : call.inputs) {
    if (!carries(input, task, Carried::gradient)) continue;
    has_any = true;
    IValue value;
    if (Status status = decode_value(std::move(input.payload), value); !status.ok()) {
      return failed(task, "its gradient is " + status.message());
    }
    const std::vector<Tensor> given = tensors_of(value);
    if (given.size() != sums.size()) {
      return failed(task, "gradients of " + std::to_string(given.size()) +
                              " tensors came, and the stage gave " + std::to_string(sums.size()));
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (!given[i].defined()) continue;
      if (!saved.outputs[i].defined() || given[i].sizes() != saved.outputs[i].sizes()) {
        return failed(task, "the gradient's shape " + shape_of(given[i]) + " is not the output's " +
                                shape_of(saved.outputs[i]));
      }
      sums[i] = sums[i].defined() ? sums[i] + given[i] : given[i];
    }
  }
  if (!has_any) return failed(task, "it needs the gradient of the stage's output");
  for (std::size_t i = 0; i < sums.size(); ++i) {
    // One that does not depend on a parameter or input has nobody to tell.
    if (!sums[i].defined() || !saved.outputs[i].requires_grad()) continue;
    outputs.push_back(saved.outputs[i]);
    gradients.push_back(sums[i]);
  }
  return {};
}

Status TorchWork::backward(Call& call) {
  const TaskInfo& task = call.task;
  const Key key{task.stage, task.microbatch};
  auto node = saved_.extract(key);
  if (node.empty()) return failed(task, "its forward has not run in this step");
  Saved saved = std::move(node.mapped());
  std::vector<Tensor> outputs;
  std::vector<Tensor> gradients;
  if (Status s = take_gradients(call, saved, outputs, gradients); !s.ok()) return s;
  saved.outputs.clear();
  std::vector<Tensor> leaves;
  for (const SavedInput& input : saved.inputs) {
    leaves.insert(leaves.end(), input.tensors.begin(), input.tensors.end());
  }
  std::vector<Tensor> of_leaves;
  if (task.kind == OpKind::backward_input) {
    of_leaves = backward_inputs(outputs, gradients, leaves, deferred_[key]);
  } else {
    if (!outputs.empty()) torch::autograd::backward(outputs, gradients);
    for (const Tensor& leaf : leaves) of_leaves.push_back(leaf.defined() ? leaf.grad() : leaf);
  }
  return send_gradients(call, saved.inputs, of_leaves);
}

Status TorchWork::send_gradients(Call& call, const std::vector<SavedInput>& inputs,
                                 const std::vector<Tensor>& gradients) {
  for (Output& output : call.outputs) {
    if (carried(call.task.kind, output.kind) == Carried::nothing) continue;
    // With one input there is no other that may be meant: a plain op may lie between.
    auto at = gradients.begin();
    const auto* input = inputs.data();
    const auto* const end = inputs.data() + inputs.size();
    for (; inputs.size() > 1 && input != end && input->stage != output.stage; ++input) {
      at += static_cast<std::ptrdiff_t>(input->tensors.size());
    }
    if (input == end) {
      return failed(call.task, "stage " + std::to_string(output.stage) +
                                   " needs a gradient, and gave no input");
    }
    std::vector<IValue> values;
    for (std::size_t i = 0; i < input->tensors.size(); ++i, ++at) {
      values.push_back(at->defined() ? IValue(*at) : IValue());
    }
    const IValue value = c10::ivalue::Tuple::create(std::move(values));
    if (Status s = encode(call.task, value, output.payload); !s.ok()) return s;
  }
  return {};
}

Status TorchWork::weight(const TaskInfo& task) {
  auto node = deferred_.extract({task.stage, task.microbatch});
  if (node.empty()) return failed(task, "its other half has not run in this step");
  node.mapped().run();
  return {};
}

}  // namespace ripeline::runtime
