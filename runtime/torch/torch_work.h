// TorchWork: a rank's tasks on LibTorch: forward and backward, whole or in two halves, accumulated
// over a step.
//
// At a stage's boundary the inputs are leaves of their own: forward keeps the inputs and outputs of
// a microbatch until its backward. The backward sends each input's gradient to the stage that sent
// the input. Output gradients from several stages are summed, the last stage's first, as autograd
// does. An op `backward input` keeps data for `backward weight` (runtime/torch/split_backward.h).
// Each microbatch's loss is divided by the number of microbatches, so .grad() of a parameter is the
// gradient of the mean. Gradients are summed in the order in which backwards, or weight halves,
// run. They are bitwise those of the unpipelined model if the program fixes that order
// (`sequential`), the numbers of threads are equal, and values between stages are dense.
//
// An op `offload` moves away what a stage keeps for its backward, and an op `reload` brings it back
// (runtime/torch/offload.h). Both run beside the rank's computing, with a thread for each engine.
//
// A stage that recomputes keeps only the inputs of a microbatch. Its op `recompute`, or else the
// backward, runs the forward again. The backward uses the new graph, and may be split as any other.
//
// An op `reduce` sums the gradients of its stage over the replicas once they include all of the
// stage's microbatches, in the last pass if there are several. It waits in a thread of its own. An
// op `user` that needs other stages' `reduce` adds up the gradients of tied weights.
//
// A plain op passes its input on; other kinds are refused. A task gets from a task at another stage
// an activation if both are forward, a gradient if both are backward, tied gradients if a `user`
// needs a `reduce`, and otherwise nothing: it only waits. Exceptions of the model become statuses
// that name the task. One thread, except for reductions and copies, which run beside that thread.
//
// On a GPU (runtime/torch/torch_device.h) all this is enqueued on the streams of the device, copies
// by threads of their own, and nothing waits for the device before the step's end.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/torch/forward.h"
#include "runtime/torch/offload.h"
#include "runtime/torch/split_backward.h"
#include "runtime/torch/stage.h"
#include "runtime/work.h"
#include "trace/record.h"

namespace ripeline::runtime {

// A value from another stage: its tensors, in order.
struct SavedInput {
  int stage = 0;
  std::vector<torch::Tensor> tensors;
};

// The losses of a step of training on one rank; empty on all ranks but that of the last stage.
struct StepLoss {
  double sum = 0;  // the sum of losses already divided, in the order of the microbatches
  // The first microbatch whose loss is not finite.
  struct NotFinite {
    int stage = 0;
    int microbatch = 0;
    std::optional<bool>
        got_finite;  // whether its stage's inputs were finite; nullopt if unknown, as on a device
  };
  std::optional<NotFinite> not_finite;
};

// A task whose input half left gradients to the weight half.
struct DeferredTask {
  core::Task task;
  trace::Deferral deferral;
};

class TorchWork final : public Work {
 public:
  explicit TorchWork(TorchModel model) : model_(std::move(model)), offloads_(model_.device) {}

  // Must be called before the first task. Checks that this work can do the rank's ops, and has its
  // stages, data and loss; also notes which stages the program offloads.
  [[nodiscard]] core::Status check(const core::ProgramFacts& facts, int rank);
  // True for reductions, which wait for other replicas, and for copies on separate engines.
  [[nodiscard]] bool runs_beside(const TaskInfo& task) const override;

  core::Status begin_step(std::int64_t step, int microbatches) override;
  core::Status run(Call& call) override;
  void ended(const TaskInfo& task) override { offloads_.ended(task); }

  [[nodiscard]] const TorchModel& model() const { return model_; }
  void zero_gradients();
  // Makes `passes` steps of the program one step of training: the loss is divided by the number of
  // microbatches in all passes, and the model's functions get the number of the step of training.
  void set_passes(int passes) { passes_ = passes; }
  // Multiplies the gradients by `scale`, but not loss().
  void set_loss_scale(double scale) { loss_scale_ = scale; }
  // step_loss() and loss() wait for the device, and throw c10::Error if it has failed.
  [[nodiscard]] StepLoss step_loss() const;
  [[nodiscard]] double loss() const { return step_loss().sum; }
  // The tasks of the last pass whose input half left gradients to the weight half.
  [[nodiscard]] const std::vector<DeferredTask>& deferrals() const { return deferrals_; }
  [[nodiscard]] OffloadReport offloaded() const { return offloads_.report(); }
  // False for all copies of a tied parameter but the first, once tied gradients were added up.
  [[nodiscard]] bool is_first_copy(int stage, const NamedTensor& parameter) const;
  // The number of microbatches, over all stages, whose activations are held or whose weight half
  // has not run; 0 at the end of a step.
  [[nodiscard]] std::size_t live() const { return saved_.size() + deferred_.size(); }

 private:
  using Key = std::pair<int, int>;  // stage, microbatch
  struct Saved {
    std::vector<SavedInput> inputs;
    std::vector<torch::Tensor> outputs;  // the loss, at the last stage
    // If the stage recomputes, the inputs of its forward and their version counters; else empty.
    StageInputs values;
    std::vector<std::int64_t> versions;
    std::shared_ptr<KeptTensors> kept = {};  // null unless the stage is offloaded
  };

  [[nodiscard]] ForwardId forward_of(const TaskInfo& task) const;
  core::Status forward(Call& call);
  core::Status recompute(const TaskInfo& task, Saved& saved);
  core::Status backward(Call& call);
  core::Status weight(const TaskInfo& task);
  core::Status reduce(Call& call);
  core::Status add_tied(Call& call);
  // Keeps in `saved` only data that offloading can move away. Destroys `output`.
  core::Status keep_for_offload(const Call& call, Saved& saved, torch::IValue output);
  core::Status run_on_stream(Call& call);
  // If a loss on the host is not finite, notes whether the inputs of the last stage were finite.
  void look_at_loss(const ForwardId& id, const Saved& saved, const torch::Tensor& loss);
  // Runs the stage on the values of `saved`, and the loss if it is the last one; sets its outputs.
  core::Status compute(const TaskInfo& task, const TorchStage& stage, Saved& saved,
                       torch::IValue& output);

  TorchModel model_;
  std::map<Key, Saved> saved_;
  std::map<Key, ParameterBackward> deferred_;
  std::vector<DeferredTask> deferrals_;
  std::set<int> offloaded_;  // stages
  Offloads offloads_;
  // By microbatch over all passes. Read only at the end, since reading waits for a device.
  std::map<int, torch::Tensor> losses_;
  std::map<int, bool> got_finite_;           // whether the inputs of a bad loss were finite
  std::set<int> started_;                    // stages that have sent their tied weights' values
  std::map<std::string, int> first_copies_;  // the first stage of each tied weight
  int passes_ = 1;
  double loss_scale_ = 1;
};

}  // namespace ripeline::runtime
