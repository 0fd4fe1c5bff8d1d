// Check: compares the pipeline with the whole model in one process, on the same microbatches.
//
// After the tasks of a step and before the update, every rank copies the parameters of all ranks,
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
    std::string parameter = "none";  // the parameter with that gradient
    double loss = 0;                 // the largest absolute difference
    double largest_gradient = 0;     // in the unpipelined model, for scale
    double tolerance = 0;            // the bound for gradient / largest_gradient and for `loss`
    [[nodiscard]] bool passed() const {
      return gradient <= tolerance * largest_gradient && loss <= tolerance;
    }
  };

  Check(const Options& options, const Schedule& schedule, const Pipeline& pipeline,
        const std::shared_ptr<const Batches>& batches);

  // Compares one step. All ranks must call this.
  ripeline::core::Status compare(ripeline::runtime::Run& run, std::int64_t step);

  // The unpipelined model's loss in the step that was compared last.
  [[nodiscard]] double unpipelined_loss() const { return loss_; }
  // The result of all ranks and steps so far; the same on all ranks.
  [[nodiscard]] const Result& result() const { return result_; }

 private:
  ripeline::core::Status take_parameters(ripeline::runtime::Run& run);
  double accumulate(std::int64_t step);  // returns the loss
  void compare_gradients();
  void raise(double difference, const std::string& parameter);

  int microbatches_;
  const Pipeline& pipeline_;
  ripeline::runtime::TorchModel whole_;
  std::vector<std::vector<int>> before_;  // per stage, the stages whose output it needs
  double loss_ = 0;
  Result result_;
};

}  // namespace vlm
