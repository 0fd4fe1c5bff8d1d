// Pipeline: trains one rank under one schedule, with the rank's stages and its arbiter.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "batches.h"
#include "model.h"
#include "options.h"
#include "runtime/torch/train.h"

namespace torch::optim {
class AdamW;
}

namespace vlm {

// Makes the model with the stages `wanted`, data in the schedule's order of inputs, and the loss.
[[nodiscard]] ripeline::runtime::TorchModel make_model(const Options& options,
                                                       const Schedule& schedule,
                                                       const std::vector<int>& wanted,
                                                       std::shared_ptr<const Batches> batches);

class Pipeline {
 public:
  // The pipeline shares `batches`; the other arguments are borrowed and must outlive it.
  Pipeline(const Options& options, const Schedule& schedule, ripeline::runtime::Run& run,
           const std::shared_ptr<const Batches>& batches);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  [[nodiscard]] ripeline::runtime::TorchTrainer& trainer() { return *trainer_; }
  [[nodiscard]] const ripeline::runtime::TorchWork& work() const { return *work_; }

 private:
  std::unique_ptr<ripeline::core::Arbiter> arbiter_;
  std::optional<ripeline::runtime::TorchWork> work_;
  std::unique_ptr<torch::optim::AdamW> optimizer_;
  std::optional<ripeline::runtime::TorchTrainer> trainer_;
};

// Gathers one text from every rank; `all` is in rank order.
ripeline::core::Status gather(ripeline::runtime::Run& run, const std::string& mine,
                              std::vector<std::string>& all);

// Gathers, for each stage, the proved bound of its activations and the most that it has held, such
// as `4 3 2 1 proved, 4 3 2 1 held`. All ranks must call this.
ripeline::core::Status gather_memory(ripeline::runtime::Run& run, Pipeline& pipeline,
                                     const Schedule& schedule, std::string& text);

}  // namespace vlm
