// Check: the whole model in one process beside the pipeline, on the same microbatches.
//
// After the tasks of a step and before its update, every rank takes over the parameters of all,
// runs the whole model without a pipeline, and compares loss and gradients of its own stage.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline.h"

namespace vlm {

class Check {
 public:
  struct Result {
    int steps = 0;
    double gradient = 0;             // the largest absolute difference of a gradient's element
    std::string parameter = "none";  // where
    double loss = 0;                 // the largest absolute difference
    double largest_gradient = 0;     // the unpipelined model's, for scale
    double tolerance = 0;            // for gradient / largest_gradient, for the loss's difference
    [[nodiscard]] bool passed() const {
      return gradient <= tolerance * largest_gradient && loss <= tolerance;
    }
  };

  Check(const Options& options, const Schedule& schedule, const Pipeline& pipeline,
        const std::shared_ptr<const Batches>& batches);

  // Compares one step; meets the other ranks.
  ripeline::core::Status compare(ripeline::runtime::Run& run, std::int64_t step);

  // In the step that was compared last.
  [[nodiscard]] double unpipelined_loss() const { return loss_; }
  // The result of all ranks and steps so far; the same on all ranks.
  [[nodiscard]] const Result& result() const { return result_; }

 private:
  ripeline::core::Status take_parameters(ripeline::runtime::Run& run);
  double accumulate(std::int64_t step);  // the loss
  void compare_gradients();
  void raise(double difference, const std::string& parameter);

  int microbatches_;
  const Pipeline& pipeline_;
  ripeline::runtime::TorchModel whole_;
  std::vector<std::vector<int>> before_;  // per stage, those that feed it
  double loss_ = 0;
  Result result_;
};

}  // namespace vlm
