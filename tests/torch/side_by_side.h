// Trains a small MLP on each rank both pipelined and unpipelined, and returns the differences.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/facts.h"
#include "runtime/torch/stage.h"
#include "runtime/torch/train.h"

namespace ripeline::testing_support {

inline constexpr int kWidth = 16;
inline constexpr int kMicrobatches = 7;  // per pass

[[nodiscard]] torch::Tensor random_tensor(std::int64_t seed, std::vector<std::int64_t> shape);

// A stage of the MLP; the number determines its parameters.
[[nodiscard]] runtime::TorchStage make_mlp_stage(int stage);
// The stages of a rank, with data, labels and loss.
[[nodiscard]] runtime::TorchModel make_mlp(const core::ProgramFacts& facts, int rank);
[[nodiscard]] std::vector<torch::Tensor> parameters_of(const runtime::TorchModel& model);

struct Training {
  std::string program;
  double rate = 1e-2;  // the learning rate of Adam
  int steps = 4;
  // The limit is so low that every step is clipped.
  runtime::TrainerOptions trainer = {.clip = 0.05};
  std::function<void(runtime::TorchStage&)> change_stage = nullptr;  // on both sides
  std::function<void(runtime::TorchModel&)> change_model = nullptr;  // to recompute in the pipeline
  // Opens the device of a rank's pipeline, in its thread. The unpipelined model is on the host.
  std::function<core::Status(std::unique_ptr<runtime::TorchDevice>&)> open_device = nullptr;
};

// Delays a third of the tasks (copies too) by up to a millisecond; each rank draws differently.
[[nodiscard]] runtime::BeforeTask late_at_random(std::uint64_t seed);

// The largest differences over all ranks and steps.
struct Outcome {
  double gradient = 0;
  double loss = 0;
  double norm = 0;
  double parameter = 0;
  // The failures of all ranks, in order.
  std::vector<std::string> failures = {};
  bool operator==(const Outcome&) const = default;
};
[[nodiscard]] Outcome train_side_by_side(const Training& training);
// Also returns what each rank offloads, and any failures; the function above expects that nothing
// fails.
[[nodiscard]] Outcome train_side_by_side(const Training& training,
                                         std::vector<runtime::OffloadReport>& offloads);

}  // namespace ripeline::testing_support
