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
// A plain op passes its input on; other kinds are refused. What a task needs of a task at another
// stage is an activation if both are forward, a gradient if both are backward, and else nothing: it
// only waits. Exceptions of the model become statuses that name the task. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "runtime/torch/split_backward.h"
#include "runtime/torch/stage.h"
#include "runtime/work.h"

namespace ripeline::runtime {

class TorchWork final : public Work {
 public:
  explicit TorchWork(TorchModel model) : model_(std::move(model)) {}

  // Whether this work can do what the program asks of the rank: ops, stages, data and loss.
  [[nodiscard]] core::Status check(const core::ProgramFacts& facts, int rank) const;

  core::Status begin_step(std::int64_t step, int microbatches) override;
  core::Status run(Call& call) override;

  [[nodiscard]] const TorchModel& model() const { return model_; }
  void zero_gradients();
  // The last stage's losses of this step, already divided, summed in microbatch order; 0 without
  // the last stage.
  [[nodiscard]] double loss() const;
  // Microbatches whose activations are held now, over all stages, and such of which the weight half
  // is left; 0 at the end of a step.
  [[nodiscard]] std::size_t live() const { return saved_.size() + deferred_.size(); }

 private:
  using Key = std::pair<int, int>;  // stage, microbatch
  // Of an input, in order, from the stage that gave it; -1: the stage's own data.
  struct SavedInput {
    int stage = -1;
    std::vector<torch::Tensor> tensors;
  };
  struct Saved {
    std::vector<SavedInput> inputs;
    std::vector<torch::Tensor> outputs;  // of the last stage: the loss
  };

  core::Status forward(Call& call);
  core::Status backward(Call& call);
  core::Status weight(const TaskInfo& task);
  core::Status take_inputs(Call& call, StageInputs& values, Saved& saved) const;
  core::Status take_loss(const TaskInfo& task, const torch::IValue& output, Saved& saved);
  // Of the outputs that get one, with it.
  core::Status take_gradients(Call& call, const Saved& saved, std::vector<torch::Tensor>& outputs,
                              std::vector<torch::Tensor>& gradients) const;

  // By tensor of the inputs; to the stages that gave them.
  static core::Status send_gradients(Call& call, const std::vector<SavedInput>& inputs,
                                     const std::vector<torch::Tensor>& gradients);

  TorchModel model_;
  std::map<Key, Saved> saved_;
  std::map<Key, ParameterBackward> deferred_;
  std::map<int, double> losses_;  // by microbatch
};

}  // namespace ripeline::runtime
