#include "runtime/torch/torch_work.h"

#include <torch/types.h>

#include <exception>
#include <new>

#include "core/print.h"
#include "runtime/torch/tensor_codec.h"

namespace ripeline::runtime {
namespace {

using core::OpKind;
using core::Status;
using core::StatusCode;

std::string name_of(const TaskInfo& task) {
  return std::to_string(task.stage) + std::string(task.op) + std::to_string(task.microbatch);
}

Status failed(const TaskInfo& task, const std::string& what) {
  return {StatusCode::failed, name_of(task) + ": " + what};
}

std::string refusal(OpKind kind) {
  if (kind == OpKind::backward_input || kind == OpKind::backward_weight) {
    return "split backward (`backward input`, `backward weight`) is not built for LibTorch stages "
           "yet; the toy stage has it. Write the backward as one op of kind `backward`";
  }
  return "LibTorch stages run ops of the kinds `forward` and `backward` only";
}

bool is_supported(OpKind kind) {
  return kind == OpKind::forward || kind == OpKind::backward || kind == OpKind::plain;
}

std::string shape_of(const torch::Tensor& tensor) {
  std::string text = "[";
  for (std::int64_t extent : tensor.sizes()) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(extent);
  }
  return text + "]";
}

// To whoever needs it.
Status give(Call& call, const torch::Tensor& tensor) {
  if (call.outputs.empty()) return {};
  Payload payload;
  if (Status status = encode_tensor(tensor, payload); !status.ok()) {
    return failed(call.task, status.message());
  }
  call.give(payload);
  return {};
}

// Producers at other stages that `lane` needs.
int inputs_of(const core::ProgramFacts& facts, std::size_t lane) {
  int inputs = 0;
  for (const core::EdgeFacts& edge : facts.edges) {
    if (static_cast<std::size_t>(edge.consumer) != lane) continue;
    const core::LaneFacts& producer = facts.lanes[static_cast<std::size_t>(edge.producer)];
    if (producer.stage != facts.lanes[lane].stage) ++inputs;
  }
  return inputs;
}

}  // namespace

Status TorchWork::check(const core::ProgramFacts& facts, int rank) const {
  const auto refused = [rank](const std::string& what) {
    return Status(StatusCode::refused, "rank " + std::to_string(rank) + ": " + what);
  };
  for (std::size_t i = 0; i < facts.lanes.size(); ++i) {
    const core::LaneFacts& lane = facts.lanes[i];
    if (lane.rank != rank) continue;
    const std::string name = core::lane_name(facts, static_cast<core::LaneId>(i));
    const OpKind kind = facts.ops[static_cast<std::size_t>(lane.op)].kind;
    if (!is_supported(kind)) return refused(name + ": " + refusal(kind));
    if (!model_.stages.contains(lane.stage)) {
      return refused("the model has no stage " + std::to_string(lane.stage) +
                     ", which the program places here");
    }
    const int inputs = inputs_of(facts, i);
    if (inputs > 1) {
      return refused(name + " needs " + std::to_string(inputs) +
                     " tasks of other stages; a LibTorch stage takes one tensor");
    }
    if (kind != OpKind::forward) continue;
    if (inputs == 0 && !model_.input) {
      return refused(name + " needs no other stage, so it needs an `input` function");
    }
    if (lane.stage == facts.stages - 1 && (!model_.labels || !model_.loss)) {
      return refused(name + " is of the last stage, so it needs `labels` and `loss` functions");
    }
  }
  return {};
}

Status TorchWork::begin_step(std::int64_t /*step*/, int /*microbatches*/) {
  saved_.clear();
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
  std::vector<Input>& inputs = call.inputs;
  Status status;
  try {
    if (inputs.size() > 1) {
      status =
          failed(task, "a LibTorch stage takes one tensor, not " + std::to_string(inputs.size()));
    } else if (task.kind == OpKind::forward) {
      status = forward(call);
    } else if (task.kind == OpKind::backward) {
      status = backward(call);
    } else if (!is_supported(task.kind)) {
      status = Status(StatusCode::refused, name_of(task) + ": " + refusal(task.kind));
    } else if (!inputs.empty()) {
      call.give(inputs[0].payload);
    }
  } catch (const c10::Error& error) {
    status = failed(task, error.what_without_backtrace());
  } catch (const std::exception& error) {
    status = failed(task, error.what());
  } catch (...) {
    status = failed(task, "an exception of an unknown type");
  }
  // Graphs of a step that will not be finished hold memory for nothing.
  if (!status.ok()) saved_.clear();
  return status;
}

Status TorchWork::forward(Call& call) {
  const TaskInfo& task = call.task;
  std::vector<Input>& inputs = call.inputs;
  const auto stage = model_.stages.find(task.stage);
  if (stage == model_.stages.end()) return failed(task, "the model has no such stage here");
  SavedTensors saved;
  if (!inputs.empty()) {
    if (Status status = decode_tensor(std::move(inputs[0].payload), saved.input); !status.ok()) {
      return failed(task, "its input is " + status.message());
    }
    if (torch::isFloatingType(saved.input.scalar_type())) saved.input.requires_grad_(true);
  } else if (model_.input) {
    saved.input = model_.input(task.step, task.microbatch);
  } else {
    return failed(task, "no `input` function was given");
  }
  saved.output = stage->second.forward(saved.input);
  if (Status status = give(call, saved.output); !status.ok()) return status;
  if (task.stage == task.stages - 1) {
    if (!model_.loss || !model_.labels) {
      return failed(task, "no `labels` and `loss` functions were given");
    }
    const torch::Tensor loss = model_.loss(saved.output, model_.labels(task.step, task.microbatch));
    if (loss.numel() != 1) {
      return failed(task, "the loss is no scalar, its shape is " + shape_of(loss));
    }
    saved.output = loss / task.microbatches;
    losses_[task.microbatch] = saved.output.item<double>();
  }
  saved_[{task.stage, task.microbatch}] = std::move(saved);
  return {};
}

Status TorchWork::backward(Call& call) {
  const TaskInfo& task = call.task;
  std::vector<Input>& inputs = call.inputs;
  auto node = saved_.extract({task.stage, task.microbatch});
  if (node.empty()) return failed(task, "its forward has not run in this step");
  SavedTensors saved = std::move(node.mapped());
  if (task.stage == task.stages - 1) {
    saved.output.backward();
  } else {
    if (inputs.empty()) return failed(task, "it needs the gradient of the stage's output");
    torch::Tensor gradient;
    if (Status status = decode_tensor(std::move(inputs[0].payload), gradient); !status.ok()) {
      return failed(task, "its gradient is " + status.message());
    }
    if (gradient.sizes() != saved.output.sizes()) {
      return failed(task, "the gradient's shape " + shape_of(gradient) + " is not the output's " +
                              shape_of(saved.output));
    }
    // A stage without parameters and without a gradient to send on has nothing to do.
    if (saved.output.requires_grad()) saved.output.backward(gradient);
  }
  if (call.outputs.empty()) return {};
  const torch::Tensor& gradient = saved.input.grad();
  return give(call, gradient.defined() ? gradient : torch::zeros_like(saved.input));
}

}  // namespace ripeline::runtime
