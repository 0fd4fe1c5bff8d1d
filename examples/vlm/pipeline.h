// Pipeline: one schedule's training on one rank: its stages of the model and its arbiter.
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

// The stages `wanted` of the model, with data in the schedule's order of inputs, and the loss.
[[nodiscard]] ripeline::runtime::TorchModel make_model(const Options& options,
                                                       const Schedule& schedule,
                                                       const std::vector<int>& wanted,
                                                       std::shared_ptr<const Batches> batches);

class Pipeline {
 public:
  // `batches` is shared by all; the rest is borrowed and must outlive the pipeline.
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

// One text from every rank, by rank.
ripeline::core::Status gather(ripeline::runtime::Run& run, const std::string& mine,
                              std::vector<std::string>& all);

// The most microbatches whose activations each stage may hold, by the proof, and has held:
// `4 3 2 1 proved, 4 3 2 1 held`. All ranks call it.
ripeline::core::Status gather_memory(ripeline::runtime::Run& run, Pipeline& pipeline,
                                     const Schedule& schedule, std::string& text);

}  // namespace vlm
