// TorchWork: a rank's tasks on LibTorch: forward and backward, whole or in two halves, accumulated
// over a step.
//
// At a stage's boundary the inputs are leaves of their own: forward keeps inputs and outputs of a
// microbatch until its backward, which sends each stage that gave an input the gradient of that
// input, and sums those that come from several stages, the last stage's first, as autograd does. An
// op `backward input` keeps what its `backward weight` needs (runtime/torch/split_backward.h). A
// microbatch's loss is divided by the number of microbatches, so parameters' .grad() hold the
// gradient of the mean. Gradients are summed in the order in which the backwards, or their weight
// halves, run: bitwise those of the unpipelined model when the program fixes that order
// (`sequential`), threads are equal, and what passes between stages is dense.
//
// What a stage keeps for its backward an op `offload` takes away, and an op `reload` brings back
// (runtime/torch/offload.h): beside what the rank computes, each engine in a thread of its own.
//
// A stage that recomputes keeps the inputs of a microbatch alone; its op `recompute`, or else the
// backward, runs the forward again and goes on with that graph, which may be split as any other.
//
// An op `reduce` sums the gradients of its stage over the replicas, once all its microbatches are
// in them: in a thread of its own, since it waits for them; of several passes in the last one. An
// op `user` that needs the `reduce` of other stages adds up the gradients of tied weights.
//
// A plain op passes its input on; other kinds are refused. What a task needs of a task at another
// stage is an activation if both are forward, a gradient if both are backward, tied gradients of a
// `reduce` for a `user`, and else nothing: it only waits. Exceptions of the model become statuses
// that name the task. One thread, but for what runs beside: reductions and copies.
//
// On a GPU (runtime/torch/torch_device.h) all this is enqueued on the streams of the device, copies
// by threads of their own, and nothing waits for it before the step's end.
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

// A value that another stage gave: its tensors, in order.
struct SavedInput {
  int stage = 0;
  std::vector<torch::Tensor> tensors;
};

// The losses of a step of training on one rank; of all ranks but that of the last stage nothing.
struct StepLoss {
  double sum = 0;  // already divided, in the order of the microbatches
  // The first microbatch whose loss is not finite.
  struct NotFinite {
    int stage = 0;
    int microbatch = 0;
    std::optional<bool>
        got_finite;  // whether what came in for it was; nothing: unknown, as on a device
  };
  std::optional<NotFinite> not_finite;
};

// The gradients that an input half left for the weight half.
struct DeferredTask {
  core::Task task;
  trace::Deferral deferral;
};

class TorchWork final : public Work {
 public:
  explicit TorchWork(TorchModel model) : model_(std::move(model)), offloads_(model_.device) {}

  // Before the first task: whether this work can do what the program asks of the rank: ops, stages,
  // data and loss. Forwards of stages that the program offloads are told so here.
  [[nodiscard]] core::Status check(const core::ProgramFacts& facts, int rank);
  // Reductions, which wait for the other replicas, and copies on engines of their own.
  [[nodiscard]] bool runs_beside(const TaskInfo& task) const override;

  core::Status begin_step(std::int64_t step, int microbatches) override;
  core::Status run(Call& call) override;
  void ended(const TaskInfo& task) override { offloads_.ended(task); }

  [[nodiscard]] const TorchModel& model() const { return model_; }
  void zero_gradients();
  // So many of the program's steps, its passes, are a step of training: the loss is divided by the
  // microbatches of them all, and the model's functions are given the step of training.
  void set_passes(int passes) { passes_ = passes; }
  // Gradients are those of the loss times this; loss() is not.
  void set_loss_scale(double scale) { loss_scale_ = scale; }
  // Both wait for the device, and throw c10::Error if that has failed.
  [[nodiscard]] StepLoss step_loss() const;
  [[nodiscard]] double loss() const { return step_loss().sum; }
  // The deferrals of the pass that ran last.
  [[nodiscard]] const std::vector<DeferredTask>& deferrals() const { return deferrals_; }
  [[nodiscard]] OffloadReport offloaded() const { return offloads_.report(); }
  // False for the later copies of a tied parameter, once gradients are there.
  [[nodiscard]] bool is_first_copy(int stage, const NamedTensor& parameter) const;
  // Microbatches whose activations are held now, over all stages, and such of which the weight half
  // is left; 0 at the end of a step.
  [[nodiscard]] std::size_t live() const { return saved_.size() + deferred_.size(); }

 private:
  using Key = std::pair<int, int>;  // stage, microbatch
  struct Saved {
    std::vector<SavedInput> inputs;
    std::vector<torch::Tensor> outputs;  // at the last stage: the loss
    // The values that the forward runs on again, and how often those were written to; else empty.
    StageInputs values;
    std::vector<std::int64_t> versions;
    std::shared_ptr<KeptTensors> kept = {};  // if the stage is offloaded
  };

  [[nodiscard]] ForwardPlace place_of(const TaskInfo& task) const;
  core::Status forward(Call& call);
  core::Status recompute(const TaskInfo& task, Saved& saved);
  core::Status backward(Call& call);
  core::Status weight(const TaskInfo& task);
  core::Status reduce(Call& call);
  core::Status add_tied(Call& call);
  // Leaves of `saved` no data but what goes when it is offloaded. `output` is gone.
  core::Status keep_for_offload(const Call& call, Saved& saved, torch::IValue output);
  core::Status run_on_stream(Call& call);
  // For the last stage, once its loss is there.
  void look_at_loss(const ForwardPlace& place, const Saved& saved, const torch::Tensor& loss);
  // Runs the stage, and the loss if it is the last one: outputs of `saved`, from its values.
  core::Status compute(const TaskInfo& task, const TorchStage& stage, Saved& saved,
                       torch::IValue& output);

  TorchModel model_;
  std::map<Key, Saved> saved_;
  std::map<Key, ParameterBackward> deferred_;
  std::vector<DeferredTask> deferrals_;
  std::set<int> offloaded_;  // stages
  Offloads offloads_;
  // By microbatch of all passes; read in the end, since on a device that waits for it.
  std::map<int, torch::Tensor> losses_;
  std::map<int, bool> got_finite_;           // not finite losses on the host: whether inputs were
  std::set<int> started_;                    // stages that gave the values of their tied weights
  std::map<std::string, int> first_copies_;  // by tied weight: its first stage
  int passes_ = 1;
  double loss_scale_ = 1;
};

}  // namespace ripeline::runtime
