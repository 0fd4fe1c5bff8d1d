// ToyWork: a small model without LibTorch, for tests, benchmarks and first experiments.
//
// Stage s computes y = 1.5 tanh(w_s x), elementwise, on a vector of `width` doubles; the loss of a
// microbatch is the mean square of the last stage's output minus a target, scaled by 1 /
// microbatches. Inputs and targets are functions of the seed, step and microbatch. The work
// computes ops of the kinds forward, backward, backward_input and backward_weight; other ops pass
// their input on. Gradients are summed in the order in which the tasks run. So they are bitwise
// equal to reference_gradients() if the op that sums them runs in the order of the microbatches.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "runtime/work.h"

namespace ripeline::runtime {

struct ToyModel {
  int stages = 1;
  int width = 8;
  std::uint64_t seed = 1;
};

// The gradients[stage][i] and the loss of one step without a pipeline, in microbatch order.
struct ToyResult {
  std::vector<std::vector<double>> gradients;
  double loss = 0;
};
[[nodiscard]] ToyResult reference_gradients(const ToyModel& model, std::int64_t step,
                                            int microbatches);

class ToyWork final : public Work {
 public:
  explicit ToyWork(const ToyModel& model) : model_(model) {}

  core::Status begin_step(std::int64_t step, int microbatches) override;
  core::Status run(Call& call) override;

  // The gradients of the current step, by stage; a stage none of whose tasks ran here has no entry.
  [[nodiscard]] const std::map<int, std::vector<double>>& gradients() const { return gradients_; }
  [[nodiscard]] double loss() const { return loss_; }
  // The number of activations and deferred gradients that are stored, of all microbatches. It is 0
  // at the end of a step.
  [[nodiscard]] std::size_t live() const { return saved_.size() + deferred_.size(); }

 private:
  using Key = std::pair<int, int>;  // stage, microbatch

  core::Status run_forward(Call& call);
  core::Status run_backward_input(Call& call);
  void run_backward_weight(const TaskInfo& task);

  ToyModel model_;
  std::int64_t step_ = 0;
  int microbatches_ = 0;
  std::map<int, std::vector<double>> gradients_;
  double loss_ = 0;
  std::map<Key, std::vector<double>>
      saved_;  // a stage's input, from forward until the weight gradient
  std::map<Key, std::vector<double>>
      deferred_;  // the gradient of tanh's argument, from backward_input until backward_weight
};

}  // namespace ripeline::runtime
