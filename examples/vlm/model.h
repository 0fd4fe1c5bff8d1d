// The model: a vision encoder and a text encoder, each a few stages, that join in a decoder.
//
//   0 vision   patches and their positions, a block
//   1 vision   a block, and the bridge to the decoder
//   2 text     words and their positions, a causal block
//   3 decoder  blocks over image and caption, causal over the caption; predicts the next word
//
// Stages 0 and 2 have data of their own; stage 3 takes two tensors. The bridge starts with zeros,
// so the decoder learns to use images only through gradients of the vision encoder. A parameter's
// first value depends on the seed and its stage.
#pragma once

#include <cstdint>

#include "runtime/torch/stage.h"

namespace vlm {

inline constexpr int kStages = 4;
inline constexpr int kFirstOfVision = 0;
inline constexpr int kText = 2;

struct ModelConfig {
  std::int64_t width = 48;
  std::int64_t heads = 4;
  std::int64_t vocabulary = 0;
  std::uint64_t seed = 1;
};

[[nodiscard]] ripeline::runtime::TorchStage make_stage(const ModelConfig& config, int stage);

// The mean cross-entropy in nats per word.
[[nodiscard]] torch::Tensor loss(const torch::Tensor& logits, const torch::Tensor& labels);

}  // namespace vlm
