// TorchWork: a rank's tasks on LibTorch: forward and full backward, accumulated over a step.
//
// At a stage's boundary the input is a leaf of its own: forward keeps input and output of a
// microbatch until its backward, which sends the input's gradient on. A microbatch's loss is
// divided by the number of microbatches, so parameters' .grad() hold the gradient of the mean.
// Gradients are summed in the order in which the backwards run: bitwise those of the
// unpipelined model when the program fixes that order (`sequential`) and threads are equal.
//
// Ops: forward, backward; a plain op at a stage passes its input on. Split backward
// (backward_input, backward_weight) is refused, with all other kinds; ToyWork has it. Exceptions
// of the model become statuses that name the task. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

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
  // Microbatches whose activations are held now, over all stages; 0 at the end of a step.
  [[nodiscard]] std::size_t live() const { return saved_.size(); }

 private:
  using Key = std::pair<int, int>;  // stage, microbatch
  struct SavedTensors {
    torch::Tensor input;
    torch::Tensor output;  // of the last stage: the loss
  };

  core::Status forward(Call& call);
  core::Status backward(Call& call);

  TorchModel model_;
  std::map<Key, SavedTensors> saved_;
  std::map<int, double> losses_;  // by microbatch
};

}  // namespace ripeline::runtime
