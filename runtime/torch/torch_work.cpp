#include "runtime/torch/torch_work.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/StreamGuard.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <optional>
#include <string>

#include "core/print.h"
#include "runtime/torch/group.h"
#include "runtime/torch/sync_debug.h"
#include "runtime/torch/tied_weights.h"
#include "runtime/torch/torch_calls.h"
#include "runtime/torch/torch_check.h"
#include "runtime/torch/torch_device.h"
#include "runtime/torch/value_codec.h"
#include "runtime/training/carried.h"

namespace ripeline::runtime {
namespace {

using core::OpKind;
using core::Status;
using torch::IValue;
using torch::Tensor;

bool is_last(const TaskInfo& task) { return task.stage == task.stages - 1; }

trace::Deferral deferral_of(const ParameterBackward& later) {
  return {.parameters = static_cast<std::int32_t>(later.parameters()),
          .deferred = static_cast<std::int32_t>(later.parameters() - later.computed()),
          .bytes = later.bytes()};
}

// Drops outputs that no stage computes with, and outputs that depend on no parameter or input.
void leave_out_idle(std::vector<Tensor>& outputs, std::vector<Tensor>& gradients) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!gradients[i].defined() || !outputs[i].requires_grad()) continue;
    std::swap(outputs[kept], outputs[i]);
    std::swap(gradients[kept++], gradients[i]);
  }
  outputs.resize(kept);
  gradients.resize(kept);
}

// The gradients of all parameters of one type in a row, and then for each parameter 1 if it has a
// gradient, else 0. A replica whose data did not use a parameter takes part with zeros.
Tensor flat_gradients(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> flat;
  Tensor exist = torch::zeros({static_cast<std::int64_t>(parameters.size())},
                              parameters.front().options().requires_grad(false));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& gradient = parameters[i].grad();
    flat.push_back(gradient.defined() ? gradient.reshape({-1})
                                      : torch::zeros_like(parameters[i]).reshape({-1}));
    if (gradient.defined()) exist[static_cast<std::int64_t>(i)] = 1;
  }
  flat.push_back(exist);
  return torch::cat(flat);
}

bool copies(OpKind kind) { return kind == OpKind::offload || kind == OpKind::reload; }

// On a GPU one stream orders all that computes; the engines for copies have streams of their own.
Status check_engines(const TorchModel& model, const core::ProgramFacts& facts, int rank) {
  const std::optional<c10::Stream> compute = stream_of(model.device);
  for (core::LaneId id = 0; compute && id < static_cast<core::LaneId>(facts.lanes.size()); ++id) {
    const core::LaneFacts& lane = facts.lanes[static_cast<std::size_t>(id)];
    const bool is_copy = copies(facts.ops[static_cast<std::size_t>(lane.op)].kind);
    if (lane.rank != rank || is_copy || stream_of(model.device, lane.engine) == compute) continue;
    return {core::StatusCode::refused,
            "rank " + std::to_string(rank) + ": " + core::lane_name(facts, id) + " runs on `" +
                std::string(core::name_of(lane.engine)) +
                "`, which on a GPU is for the ops `offload` and `reload` alone"};
  }
  return {};
}

// Makes one call for each type. A parameter that has a gradient at no replica has none afterwards.
// A parameter with a gradient at some replicas only, as when the data decide what a stage runs,
// gets the sum of these gradients at all replicas.
void sum_gradients(const TorchStage& stage, const Group& replicas) {
  if (replicas.size() == 1) return;
  const torch::NoGradGuard no_grad;
  std::map<torch::ScalarType, std::vector<Tensor>> by_type;
  for (const NamedTensor& parameter : stage.parameters) {
    by_type[parameter.tensor.scalar_type()].push_back(parameter.tensor);
  }
  std::vector<Tensor> sums;  // per type: its gradients, then the number of replicas that have each
  std::vector<Tensor> counts;
  for (const auto& [type, parameters] : by_type) {
    sums.push_back(flat_gradients(parameters));
    replicas.sum(sums.back());
    const std::int64_t end = sums.back().numel();
    const auto behind = static_cast<std::int64_t>(parameters.size());
    counts.push_back(sums.back().slice(0, end - behind, end).to(torch::kDouble));
  }
  if (sums.empty()) return;
  const Tensor count = [&counts] {
    const AllowedSync allowed;  // the only wait for a device
    return torch::cat(counts).cpu();
  }();
  const double* exists = count.const_data_ptr<double>();
  auto all = sums.begin();
  for (auto& [type, parameters] : by_type) {
    const Tensor& of_type = *all++;
    std::int64_t at = 0;
    for (Tensor& parameter : parameters) {
      const Tensor sum = of_type.slice(0, at, at + parameter.numel()).view_as(parameter);
      at += parameter.numel();
      if (*exists++ == 0) continue;
      if (!parameter.grad().defined()) parameter.mutable_grad() = torch::empty_like(parameter);
      parameter.mutable_grad().copy_(sum);
    }
  }
}

// Adds the inputs that an earlier task got for this one, except those that the call already has.
void add_inputs(Call& call, std::vector<Input> inputs) {
  const auto own = static_cast<std::ptrdiff_t>(call.inputs.size());
  for (Input& input : inputs) {
    const bool is_there =
        std::any_of(call.inputs.begin(), call.inputs.begin() + own, [&](const Input& known) {
          return known.stage == input.stage &&
                 training::carried(known.kind, call.task.kind) == training::Carried::gradient;
        });
    if (!is_there) call.inputs.push_back(std::move(input));
  }
}

// Replaces the inputs that a stage holds beside its graph by leaves without data.
void leave_leaves(std::vector<SavedInput>& inputs) {
  for (SavedInput& input : inputs) {
    for (Tensor& tensor : input.tensors) tensor = leaf_without_data(tensor);
  }
}

// Makes the first values, which are those of the inputs, pass their gradients to `inputs`.
std::vector<std::shared_ptr<void>> link_leaves(const StageInputs& values,
                                               const std::vector<SavedInput>& inputs) {
  std::vector<std::shared_ptr<void>> links;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<Tensor> tensors = tensors_of(values[i]);
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      links.push_back(link_leaf(tensors[k], inputs[i].tensors[k]));
    }
  }
  return links;
}

// The version of each tensor in the values; each write in place increases it.
std::vector<std::int64_t> versions_of(const StageInputs& values) {
  std::vector<std::int64_t> versions;
  for (const IValue& value : values) {
    value.visit([&versions](const IValue& part) {
      if (part.isTensor() && part.toTensor().defined()) {
        versions.push_back(part.toTensor()._version());
      }
      return false;
    });
  }
  return versions;
}

}  // namespace

Status TorchWork::check(const core::ProgramFacts& facts, int rank) {
  for (const auto& [number, stage] : model_.stages) {
    if (is_offloaded(facts, number)) offloaded_.insert(number);
  }
  if (Status s = check_engines(model_, facts, rank); !s.ok()) return s;
  return check_model(model_, facts, rank);
}

Status TorchWork::begin_step(std::int64_t step, int /*microbatches*/) {
  saved_.clear();
  deferred_.clear();
  deferrals_.clear();
  offloads_.begin_step();
  if (step % passes_ == 0) {
    losses_.clear();
    got_finite_.clear();
  }
  return {};
}

ForwardId TorchWork::forward_of(const TaskInfo& task) const {
  const auto pass = static_cast<int>(task.step % passes_);
  return {
      .step = task.step / passes_,
      .microbatch = (model_.replicas.self() * passes_ + pass) * task.microbatches + task.microbatch,
      .stage = task.stage};
}

void TorchWork::zero_gradients() {
  for (auto& [number, stage] : model_.stages) {
    for (NamedTensor& parameter : stage.parameters) parameter.tensor.mutable_grad().reset();
  }
}

StepLoss TorchWork::step_loss() const {
  StepLoss found;
  if (losses_.empty()) return found;
  std::vector<Tensor> losses;
  for (const auto& [microbatch, loss] : losses_) losses.push_back(loss.reshape({}));
  const Tensor all = torch::stack(losses).to(c10::kCPU, torch::kDouble);
  const auto* next = all.const_data_ptr<double>();
  for (const auto& [microbatch, loss] : losses_) {
    found.sum += *next;
    if (std::isfinite(*next++) || found.not_finite) continue;
    const auto got = got_finite_.find(microbatch);
    found.not_finite = {
        .stage = model_.stages.rbegin()->first,
        .microbatch = microbatch,
        .got_finite = got == got_finite_.end() ? std::nullopt : std::optional(got->second)};
  }
  return found;
}

// Skips a loss on a device, since the host would have to wait for its computation.
void TorchWork::look_at_loss(const ForwardId& id, const Saved& saved, const Tensor& loss) {
  if (!loss.is_cpu() || std::isfinite(loss.item<double>())) return;
  bool is_finite = true;
  for (std::size_t i = 0; i < saved.inputs.size() && i < saved.values.size(); ++i) {
    for (const Tensor& tensor : tensors_of(saved.values[i])) {
      if (!tensor.defined() || !tensor.is_floating_point()) continue;
      is_finite = is_finite && torch::isfinite(tensor).all().item<bool>();
    }
  }
  got_finite_[id.microbatch] = is_finite;
}

bool TorchWork::runs_beside(const TaskInfo& task) const {
  if (task.kind == OpKind::reduce) return model_.replicas.size() > 1;
  return copies(task.kind) && task.engine != core::Engine::compute;
}

bool TorchWork::is_first_copy(int stage, const NamedTensor& parameter) const {
  const auto first = first_copies_.find(parameter.tied);
  return parameter.tied.empty() || first == first_copies_.end() || first->second == stage;
}

Status TorchWork::reduce(Call& call) {
  const TaskInfo& task = call.task;
  if (task.step % passes_ != passes_ - 1) return {};
  const TorchStage& stage = model_.stages.at(task.stage);
  sum_gradients(stage, model_.replicas);
  return give_tied_gradients(call, stage, started_.insert(task.stage).second);
}

Status TorchWork::add_tied(Call& call) {
  if (call.task.step % passes_ != passes_ - 1) return {};
  return add_tied_gradients(call, model_.stages.at(call.task.stage), first_copies_);
}

Status TorchWork::run_on_stream(Call& call) {
  const TaskInfo& task = call.task;
  const c10::OptionalStreamGuard guard(stream_of(model_.device, task.engine));
  if (task.kind == OpKind::forward) return forward(call);
  if (task.kind == OpKind::reduce) return reduce(call);
  if (task.kind == OpKind::user) return add_tied(call);
  if (training::computes_gradients(task.kind)) return backward(call);
  if (task.kind == OpKind::backward_weight) return weight(task);
  if (task.kind == OpKind::recompute) {
    const auto saved = saved_.find({task.stage, task.microbatch});
    return saved == saved_.end() ? failed(task, "its forward has not run in this step")
                                 : recompute(task, saved->second);
  }
  if (task.kind == OpKind::offload) return offloads_.offload(task);
  if (task.kind == OpKind::reload) return offloads_.reload(call);
  if (task.kind != OpKind::plain) return failed(task, "LibTorch stages run no op of this kind");
  pass_on(call);
  return {};
}

Status TorchWork::run(Call& call) {
  const TaskInfo& task = call.task;
  const SyncDebuggedTask debugged(task.step);
  Status status;
  try {
    status = run_on_stream(call);
  } catch (const GroupFailed& error) {
    status = {core::StatusCode::lost, failed(task, error.what()).message()};  // the fault of others
  } catch (const c10::Error& error) {
    status = failed(task, error.what_without_backtrace());
  } catch (const std::exception& error) {
    status = failed(task, error.what());
  } catch (...) {
    status = failed(task, "an exception of an unknown type");
  }
  // The step will not be finished, so its graphs are freed, but only in the thread that made them.
  if (!status.ok() && !runs_beside(task)) {
    saved_.clear();
    deferred_.clear();
  }
  return status;
}

Status TorchWork::compute(const TaskInfo& task, const TorchStage& stage, Saved& saved,
                          IValue& output) {
  std::vector<std::shared_ptr<void>> links;  // kept until the graph has been recorded
  std::optional<SavingRegion> region;
  if (saved.kept != nullptr) {
    links = link_leaves(saved.values, saved.inputs);
    if (!stage.recompute) region.emplace(saved.kept->saved());
  }
  // Replaces the outputs that a stage holds beside its graph by tensors without data.
  const auto leave_outputs = [&saved] {
    if (saved.kept == nullptr) return;
    for (Tensor& one : saved.outputs) one = output_without_data(one);
  };
  const ForwardId id = forward_of(task);
  output = run_forward(model_, stage, saved.values, id);
  if (!is_last(task)) {
    saved.outputs = tensors_of(output);
    leave_outputs();
    return {};
  }
  if (!model_.loss || !model_.labels) {
    return failed(task, "no `labels` and `loss` functions were given");
  }
  const Tensor loss = run_loss(model_, output, id);
  if (loss.numel() != 1) {
    return failed(task, "the loss is no scalar, its shape is " + shape_of(loss));
  }
  saved.outputs = {loss / (task.microbatches * passes_ * model_.replicas.size())};
  losses_[id.microbatch] = saved.outputs[0].detach();
  look_at_loss(id, saved, losses_[id.microbatch]);
  leave_outputs();
  return {};
}

Status TorchWork::forward(Call& call) {
  const TaskInfo& task = call.task;
  const auto stage = model_.stages.find(task.stage);
  if (stage == model_.stages.end()) return failed(task, "the model has no such stage here");
  Saved saved;
  if (Status s = take_values(call, saved.values, saved.inputs); !s.ok()) return s;
  if (const auto data = model_.inputs.find(task.stage); data != model_.inputs.end()) {
    const ForwardId id = forward_of(task);
    saved.values.push_back(on_device(model_, data->second(id.step, id.microbatch)));
  }
  if (saved.values.empty()) return failed(task, "it gets no input");
  if (offloaded_.contains(task.stage)) {
    saved.kept = std::make_shared<KeptTensors>();
    leave_leaves(saved.inputs);
  }
  IValue output;
  {
    const at::AutoGradMode records(!stage->second.recompute);
    if (stage->second.recompute) saved.versions = versions_of(saved.values);
    if (Status s = compute(task, stage->second, saved, output); !s.ok()) return s;
  }
  if (stage->second.recompute) {
    saved.outputs.clear();
  } else {
    saved.values.clear();
  }
  if (Status status = give_value(call, output); !status.ok()) return status;
  if (saved.kept != nullptr) {
    if (Status s = keep_for_offload(call, saved, std::move(output)); !s.ok()) return s;
  }
  saved_[{task.stage, task.microbatch}] = std::move(saved);
  return {};
}

Status TorchWork::keep_for_offload(const Call& call, Saved& saved, IValue output) {
  const TaskInfo& task = call.task;
  const TorchStage& stage = model_.stages.at(task.stage);
  for (IValue& value : saved.values) {
    value = with_each(value, [&saved](const Tensor& tensor) { return saved.kept->add(tensor); });
  }
  // Nobody needs the last stage's output any more, since its loss has been computed.
  const std::vector<Tensor> given = is_last(task) ? std::vector<Tensor>() : tensors_of(output);
  output = {};
  std::vector<Tensor> parameters;
  for (const NamedTensor& parameter : stage.parameters) parameters.push_back(parameter.tensor);
  const bool is_sent = std::any_of(call.outputs.begin(), call.outputs.end(),
                                   [](const Output& one) { return !one.payload.empty(); });
  if (Status s = saved.kept->settle(device_of(model_.device), given, is_sent, parameters);
      !s.ok()) {
    return failed(task, s.message());
  }
  offloads_.keep(task, saved.kept);
  return {};
}

// Runs the forward again, with the graph recorded this time; later calls do nothing.
Status TorchWork::recompute(const TaskInfo& task, Saved& saved) {
  if (saved.values.empty()) return {};
  if (versions_of(saved.values) != saved.versions) {
    return failed(task, "the forward has written to its inputs: it cannot be computed again");
  }
  IValue output;
  if (Status s = compute(task, model_.stages.at(task.stage), saved, output); !s.ok()) return s;
  saved.values.clear();
  if (saved.kept != nullptr) saved.kept->let_go();
  return {};
}

Status TorchWork::backward(Call& call) {
  const TaskInfo& task = call.task;
  const Key key{task.stage, task.microbatch};
  auto node = saved_.extract(key);
  if (node.empty()) return failed(task, "its forward has not run in this step");
  Saved saved = std::move(node.mapped());
  if (Status s = recompute(task, saved); !s.ok()) return s;
  if (saved.kept != nullptr) add_inputs(call, offloads_.take_inputs(task));
  std::vector<Tensor> outputs = std::exchange(saved.outputs, {});
  std::vector<Tensor> gradients;
  if (is_last(task)) {
    gradients = {torch::full_like(outputs[0], loss_scale_)};
  } else {
    if (Status s = take_gradients(call, outputs, gradients); !s.ok()) return s;
    leave_out_idle(outputs, gradients);
  }
  std::vector<Tensor> leaves;
  for (const SavedInput& input : saved.inputs) {
    leaves.insert(leaves.end(), input.tensors.begin(), input.tensors.end());
  }
  std::vector<Tensor> of_leaves;
  if (task.kind == OpKind::backward_input) {
    ParameterBackward& later = deferred_[key];
    of_leaves = backward_inputs(outputs, gradients, leaves, later);
    deferrals_.push_back({task.task, deferral_of(later)});
  } else {
    if (!outputs.empty()) torch::autograd::backward(outputs, gradients);
    for (const Tensor& leaf : leaves) of_leaves.push_back(leaf.defined() ? leaf.grad() : leaf);
  }
  return give_gradients(call, saved.inputs, of_leaves);
}

Status TorchWork::weight(const TaskInfo& task) {
  auto node = deferred_.extract({task.stage, task.microbatch});
  if (node.empty()) return failed(task, "its other half has not run in this step");
  node.mapped().run();
  return {};
}

}  // namespace ripeline::runtime
