// Runner: one schedule's training on one rank: its part of the model, its arbiter and its trainer.
// train and compare drive it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data.h"
#include "options.h"
#include "rank.h"
#include "runtime/torch/train.h"

namespace torch::optim {
class AdamW;
}

namespace gpt {

class Runner {
 public:
  // `batches` is shared by all; the rest is borrowed and must outlive the runner.
  Runner(const Options& options, const Schedule& schedule, const Rank& rank,
         ripeline::runtime::Groups& groups, std::shared_ptr<const Batches> batches);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  [[nodiscard]] ripeline::runtime::TorchTrainer& trainer() { return *trainer_; }
  [[nodiscard]] const ripeline::runtime::TorchWork& work() const { return *work_; }
  [[nodiscard]] const ripeline::runtime::TorchModel& model() const { return work_->model(); }
  // Numbers that this process trains; of those that several have, the first.
  [[nodiscard]] std::int64_t parameters() const;

 private:
  ripeline::core::Coordinates place_;
  std::unique_ptr<ripeline::core::Arbiter> arbiter_;
  std::optional<ripeline::runtime::TorchWork> work_;
  std::unique_ptr<torch::optim::AdamW> optimizer_;
  std::optional<ripeline::runtime::TorchTrainer> trainer_;
};

// The communicators of a schedule's collectives; all ranks call it.
ripeline::core::Status connect_groups(const Options& options, const Schedule& schedule,
                                      const Rank& rank,
                                      std::unique_ptr<ripeline::runtime::Groups>& groups);

// The batches of the text that `options` name; fails when it cannot be read or is too short.
ripeline::core::Status make_batches(const Options& options,
                                    std::shared_ptr<const Batches>& batches);

}  // namespace gpt
