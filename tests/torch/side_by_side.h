// A small MLP, trained pipelined and unpipelined side by side on each rank: what differs.
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

// A stage of the MLP; the same for the same number.
[[nodiscard]] runtime::TorchStage make_mlp_stage(int stage);
// A rank's stages, with data, labels and loss.
[[nodiscard]] runtime::TorchModel make_mlp(const core::ProgramFacts& facts, int rank);
[[nodiscard]] std::vector<torch::Tensor> parameters_of(const runtime::TorchModel& model);

struct Training {
  std::string program;
  double rate = 1e-2;  // Adam's
  int steps = 4;
  // Clips so hard that every step is clipped.
  runtime::TrainerOptions trainer = {.clip = 0.05};
  std::function<void(runtime::TorchStage&)> change_stage = nullptr;  // on both sides
  std::function<void(runtime::TorchModel&)> change_model = nullptr;  // recompute: the pipeline's
  // Opens the device of each rank's pipeline, in its thread; the unpipelined model is on the host.
  std::function<core::Status(std::unique_ptr<runtime::TorchDevice>&)> open_device = nullptr;
};

// A third of the tasks, copies among them, begin up to a millisecond late, at each rank others.
[[nodiscard]] runtime::BeforeTask late_at_random(std::uint64_t seed);

// The largest differences over all ranks and steps.
struct Outcome {
  double gradient = 0;
  double loss = 0;
  double norm = 0;
  double parameter = 0;
  // Failures of all ranks, in order.
  std::vector<std::string> failures = {};
  bool operator==(const Outcome&) const = default;
};
[[nodiscard]] Outcome train_side_by_side(const Training& training);
// Likewise, with what each rank offloads, and with failures, which the former expects there not to
// be.
[[nodiscard]] Outcome train_side_by_side(const Training& training,
                                         std::vector<runtime::OffloadReport>& offloads);

}  // namespace ripeline::testing_support
