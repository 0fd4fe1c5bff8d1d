// Check: the unpipelined model beside the pipeline, on the same microbatches.
//
// Every rank runs the whole model and compares the loss and the gradients of its own stages.
// Where the schedule fixes the order of the sums, the two train on their own and must stay equal
// to the bit; elsewhere rounding differs and would grow from step to step, so each step starts
// from the pipeline's parameters, and a gradient may differ by 1e-5 of the largest one.
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
    std::string parameter = "none";  // where
    double largest_gradient = 0;     // the unpipelined model's, for scale
    double tolerance = 0;            // for gradient / largest_gradient, for the loss's difference
    [[nodiscard]] bool passed() const {
      return gradient <= tolerance * largest_gradient && loss <= tolerance;
    }
  };

  Check(const Options& options, const Schedule& schedule,
        const ripeline::runtime::TorchModel& pipelined);

  // Around one step: before() ahead of the pipeline's tasks, compare() when its gradients are
  // there, finish() after its update. before() and finish() meet the other ranks.
  ripeline::core::Status before(ripeline::runtime::Run& run);
  void compare(std::int64_t step, double loss_scale);
  ripeline::core::Status finish(ripeline::runtime::Run& run,
                                const ripeline::runtime::TrainReport& pipelined);

  // In the step that was compared last.
  [[nodiscard]] double unpipelined_loss() const { return loss_; }
  // The result of all ranks and steps so far; the same on all ranks.
  [[nodiscard]] const Result& result() const { return result_; }

 private:
  void compute(std::int64_t step, double loss_scale);
  // Adds the gradients to `sums` and clears them.
  void put_aside(std::vector<torch::Tensor>& sums);
  void clip();
  void raise(double difference, const std::string& parameter);

  const Options& options_;
  bool exact_;
  ripeline::core::Layout layout_;
  const ripeline::runtime::TorchModel& pipelined_;
  ripeline::runtime::TorchModel whole_;                // its loss is that of one process
  std::vector<ripeline::runtime::TorchStage> stages_;  // the whole model's
  std::vector<torch::Tensor> parameters_;
  std::unique_ptr<torch::optim::AdamW> optimizer_;
  double loss_ = 0;
  bool is_finite_ = true;  // every gradient of this step
  Result result_;
};

}  // namespace gpt
