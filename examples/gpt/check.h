// Check: compares the pipeline with the unpipelined model, on the same microbatches.
//
// Every rank runs the whole model and compares the loss and the gradients of its own stages.
// If the schedule fixes the order of the sums, both models train independently and must stay equal
// to the bit. Otherwise rounding differs, and differences would grow from step to step. So each
// step starts from the pipeline's parameters, and a gradient may differ by 1e-5 of the largest.
#pragma once

#include <torch/optim/adamw.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "options.h"
#include "runtime/torch/stage.h"
#include "runtime/torch/train.h"

namespace gpt {

class Check {
 public:
  struct Result {
    int steps = 0;
    double loss = 0;                 // the largest absolute difference
    double gradient = 0;             // the largest absolute difference of a gradient's element
    std::string parameter = "none";  // the parameter with that gradient
    double largest_gradient = 0;     // in the unpipelined model, for scale
    double tolerance = 0;            // the bound for gradient / largest_gradient and for `loss`
    [[nodiscard]] bool passed() const {
      return gradient <= tolerance * largest_gradient && loss <= tolerance;
    }
  };

  Check(const Options& options, const Schedule& schedule,
        const ripeline::runtime::TorchModel& pipelined);

  // Call before() before the pipeline's tasks of a step, compare() when its gradients are computed,
  // and finish() after its update. All ranks must call before() and finish().
  ripeline::core::Status before(ripeline::runtime::Run& run);
  void compare(std::int64_t step, double loss_scale);
  ripeline::core::Status finish(ripeline::runtime::Run& run,
                                const ripeline::runtime::TrainReport& pipelined);

  // The unpipelined model's loss in the step that was compared last.
  [[nodiscard]] double unpipelined_loss() const { return loss_; }
  // The result of all ranks and steps so far; the same on all ranks.
  [[nodiscard]] const Result& result() const { return result_; }

 private:
  void compute(std::int64_t step, double loss_scale);
  // Adds the parameters' gradients to `sums` and clears the gradients.
  void put_aside(std::vector<torch::Tensor>& sums);
  void clip();
  void raise(double difference, const std::string& parameter);

  const Options& options_;
  bool exact_;
  ripeline::core::Layout layout_;
  const ripeline::runtime::TorchModel& pipelined_;
  ripeline::runtime::TorchModel whole_;                // its loss is not split among members
  std::vector<ripeline::runtime::TorchStage> stages_;  // all stages of the whole model
  std::vector<torch::Tensor> parameters_;
  std::unique_ptr<torch::optim::AdamW> optimizer_;
  double loss_ = 0;
  bool is_finite_ = true;  // whether every gradient of this step is finite
  Result result_;
};

}  // namespace gpt
