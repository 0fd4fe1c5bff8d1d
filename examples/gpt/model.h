// A byte-level GPT, cut into pipeline stages.
//
// Token and position embedding, pre-norm blocks of causal multi-head attention and MLP, a final
// norm and a head. Blocks are dealt out evenly; the embedding goes to the first stage, norm and
// head to the last. A parameter's first value follows from the seed and its place in the model,
// never from the cut: pipelined and unpipelined models start the same, however many members share a
// rank's layers.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/torch/group.h"
#include "runtime/torch/stage.h"

namespace gpt {

struct ModelConfig {
  std::int64_t width = 64;
  int layers = 4;
  std::int64_t heads = 4;
  std::int64_t context = 64;  // bytes that the model sees
  double dropout = 0;         // the share that is dropped
  std::uint64_t seed = 1;
  bool tied = false;  // the output layer has the weights of the token embedding
};

inline constexpr std::int64_t kVocabulary = 256;  // bytes

// Stage `stage` of `stages`: the group's share of it, with its parameters on the device. They are
// named as in the whole model: `blocks_2.mlp_in.weight`.
[[nodiscard]] ripeline::runtime::TorchStage make_stage(const ModelConfig& config, int stage,
                                                       int stages, c10::Device device,
                                                       const ripeline::runtime::Group& group = {});

// All stages in one process, where tied weights are one tensor.
[[nodiscard]] std::vector<ripeline::runtime::TorchStage> make_whole(const ModelConfig& config,
                                                                    int stages, c10::Device device);

// Mean cross-entropy in nats per byte, of the last stage's output; of guessing at random: ln 256 =
// 5.55.
[[nodiscard]] ripeline::runtime::ValueFunction loss(const ripeline::runtime::Group& group = {});

}  // namespace gpt
