#include "runtime/torch/torch_calls.h"

#include <torch/types.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "runtime/torch/value_codec.h"
#include "runtime/training/carried.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using torch::IValue;
using torch::Tensor;

// Whether the input is of the task's microbatch, and carries `what` for the task.
bool carries(const Input& input, const TaskInfo& task, training::Carried what) {
  return input.microbatch == task.microbatch && training::carried(input.kind, task.kind) == what;
}

Status encode(const TaskInfo& task, const IValue& value, Payload& payload) {
  Status status = encode_value(value, payload);
  return status.ok() ? status : failed(task, status.message());
}

}  // namespace

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

Status take_values(Call& call, StageInputs& values, std::vector<SavedInput>& inputs) {
  const TaskInfo& task = call.task;
  std::stable_sort(call.inputs.begin(), call.inputs.end(),
                   [](const Input& a, const Input& b) { return a.stage < b.stage; });
  for (Input& input : call.inputs) {
    if (!carries(input, task, training::Carried::activation)) continue;
    IValue& value = values.emplace_back();
    if (Status status = decode_value(std::move(input.payload), value); !status.ok()) {
      return failed(task, "its input is " + status.message());
    }
    inputs.push_back({.stage = input.stage, .tensors = tensors_of(value)});
    for (Tensor& tensor : inputs.back().tensors) {
      if (tensor.defined() && tensor.is_floating_point()) tensor.requires_grad_(true);
    }
  }
  return {};
}

Status take_gradients(Call& call, const std::vector<Tensor>& outputs,
                      std::vector<Tensor>& gradients) {
  const TaskInfo& task = call.task;
  gradients.assign(outputs.size(), {});
  std::stable_sort(call.inputs.begin(), call.inputs.end(),
                   [](const Input& a, const Input& b) { return a.stage > b.stage; });
  bool has_any = false;
  for (Input& input : call.inputs) {
    if (!carries(input, task, training::Carried::gradient)) continue;
    has_any = true;
    IValue value;
    if (Status status = decode_value(std::move(input.payload), value); !status.ok()) {
      return failed(task, "its gradient is " + status.message());
    }
    const std::vector<Tensor> given = tensors_of(value);
    if (given.size() != outputs.size()) {
      return failed(task, "gradients of " + std::to_string(given.size()) +
                              " tensors came, and the stage gave " +
                              std::to_string(outputs.size()));
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!given[i].defined()) continue;
      if (!outputs[i].defined() || given[i].sizes() != outputs[i].sizes()) {
        return failed(task, "the gradient's shape " + shape_of(given[i]) + " is not the output's " +
                                shape_of(outputs[i]));
      }
      gradients[i] = gradients[i].defined() ? gradients[i] + given[i] : given[i];
    }
  }
  return has_any ? Status() : failed(task, "it needs the gradient of the stage's output");
}

Status give_value(Call& call, const IValue& value) {
  Payload payload;
  for (Output& output : call.outputs) {
    if (training::carried(call.task.kind, output.kind) == training::Carried::nothing) continue;
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

Status give_gradients(Call& call, const std::vector<SavedInput>& inputs,
                      const std::vector<Tensor>& gradients) {
  for (Output& output : call.outputs) {
    if (training::carried(call.task.kind, output.kind) == training::Carried::nothing) continue;
    // A single input takes the gradient even if its stage differs, as with a plain op in between.
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

}  // namespace ripeline::runtime
