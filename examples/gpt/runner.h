// Runner: trains one rank under one schedule, with the rank's part of the model, its arbiter and
// its trainer. train() and compare() call it.
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
  // The runner shares `batches`; the other arguments are borrowed and must outlive it.
  Runner(const Options& options, const Schedule& schedule, const Rank& rank,
         ripeline::runtime::Groups& groups, std::shared_ptr<const Batches> batches);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  [[nodiscard]] ripeline::runtime::TorchTrainer& trainer() { return *trainer_; }
  [[nodiscard]] const ripeline::runtime::TorchWork& work() const { return *work_; }
  [[nodiscard]] const ripeline::runtime::TorchModel& model() const { return work_->model(); }
  // How many scalars this process trains; scalars that processes share count only on the first one.
  [[nodiscard]] std::int64_t parameters() const;

 private:
  ripeline::core::Coordinates place_;
  std::unique_ptr<ripeline::core::Arbiter> arbiter_;
  std::optional<ripeline::runtime::TorchWork> work_;
  std::unique_ptr<torch::optim::AdamW> optimizer_;
  std::optional<ripeline::runtime::TorchTrainer> trainer_;
};

// Connects the communicators of a schedule's collectives. All ranks must call this.
ripeline::core::Status connect_groups(const Options& options, const Schedule& schedule,
                                      const Rank& rank,
                                      std::unique_ptr<ripeline::runtime::Groups>& groups);

// The batches of options.text. Fails by status if the text cannot be read or is too short.
ripeline::core::Status make_batches(const Options& options,
                                    std::shared_ptr<const Batches>& batches);

}  // namespace gpt
