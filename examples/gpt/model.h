// A byte-level GPT, cut into pipeline stages.
//
// The model has a token and position embedding, pre-norm blocks of causal multi-head attention and
// MLP, a final norm and a head. Blocks are distributed evenly; the embedding is in the first stage,
// norm and head are in the last. A parameter's first value depends on the seed and its position in
// the model, never on the stages or on how many members share a rank's layers. So pipelined and
// unpipelined models start with the same values.
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
  std::int64_t context = 64;  // the number of bytes that the model sees
  double dropout = 0;         // the share of activations that is dropped
  std::uint64_t seed = 1;
  bool tied = false;  // the output layer has the weights of the token embedding
};

inline constexpr std::int64_t kVocabulary = 256;  // the values of a byte

// The group member's share of stage `stage` out of `stages`, with its parameters on the device.
// Parameters have the same names as in the whole model, such as `blocks_2.mlp_in.weight`.
[[nodiscard]] ripeline::runtime::TorchStage make_stage(const ModelConfig& config, int stage,
                                                       int stages, c10::Device device,
                                                       const ripeline::runtime::Group& group = {});

// All stages in one process, where tied weights are one tensor.
[[nodiscard]] std::vector<ripeline::runtime::TorchStage> make_whole(const ModelConfig& config,
                                                                    int stages, c10::Device device);

// The mean cross-entropy of the last stage's output, in nats per byte; it is ln 256 = 5.55 for
// random guesses.
[[nodiscard]] ripeline::runtime::ValueFunction loss(const ripeline::runtime::Group& group = {});

}  // namespace gpt
