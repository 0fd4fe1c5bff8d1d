// Layers that the members of a tensor-parallel rank compute together, each with its share of the
// weights (Shoeybi et al., Megatron-LM, 2019, section 3).
//
//   ColumnParallelLinear in(torch::nn::Linear(64, 256), group);   // shares of the 256 outputs
//   RowParallelLinear out(torch::nn::Linear(256, 64), group);     // takes shares, returns the sum
//
// Each layer is made from an undivided layer, and takes its share of that layer's values. So a
// model starts the same, however many members there are. A divided dimension must be a multiple of
// the group's size; else std::invalid_argument is thrown. In a group of one the results are bitwise
// those of the undivided layer; otherwise sums have another order.
//
// Whole inputs and outputs are bitwise the same at all members, and so are their gradients. Modules
// tell which part of a parameter they have (SharedModule), and the trainer combines the gradients
// of all parts of a parameter. Tasks that run these layers issue collectives: declare that in the
// program (`collectives`), with one backward per forward, in the order that the group agrees on.
#pragma once

#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <vector>

#include "runtime/torch/group.h"
#include "runtime/torch/stage.h"

namespace ripeline::runtime {

// Returns `whole` as it is; the gradient is summed over the group.
[[nodiscard]] torch::Tensor copy_to_group(const torch::Tensor& whole, const Group& group);
// Returns the sum over the group; the gradient is passed on as it is.
[[nodiscard]] torch::Tensor sum_over_group(const torch::Tensor& part, const Group& group);

// Computes x W^T + b with a share of the rows of W and of b: takes the whole input, and returns a
// share of the output. If the output has several equal `blocks`, such as query, key and value, each
// of the blocks is divided.
struct ColumnParallelLinearImpl : torch::nn::Module, SharedModule {
  ColumnParallelLinearImpl(const torch::nn::Linear& whole, Group of, std::int64_t of_blocks = 1);
  torch::Tensor forward(const torch::Tensor& x) const;
  [[nodiscard]] TensorShare share_of(const torch::Tensor& parameter) const override;

  Group group;
  std::int64_t blocks;
  torch::Tensor weight, bias;
};
TORCH_MODULE(ColumnParallelLinear);

// Computes x W^T + b with a share of the columns of W and all of b: takes a share of the input, and
// returns the whole output.
struct RowParallelLinearImpl : torch::nn::Module, SharedModule {
  RowParallelLinearImpl(const torch::nn::Linear& whole, Group of);
  torch::Tensor forward(const torch::Tensor& x) const;
  [[nodiscard]] TensorShare share_of(const torch::Tensor& parameter) const override;

  Group group;
  torch::Tensor weight, bias;
};
TORCH_MODULE(RowParallelLinear);

// Multi-head attention of [batch, position, width], with a share of the heads. `in` computes query,
// key and value, in this order.
struct ParallelAttentionImpl : torch::nn::Module {
  ParallelAttentionImpl(const torch::nn::Linear& whole_in, const torch::nn::Linear& whole_out,
                        std::int64_t heads, bool is_causal, const Group& group);
  torch::Tensor forward(const torch::Tensor& x);

  std::int64_t heads;  // the number of this member's heads
  bool is_causal;
  ColumnParallelLinear in;
  RowParallelLinear out;
};
TORCH_MODULE(ParallelAttention);

// An embedding, with a share of its rows.
struct VocabularyParallelEmbeddingImpl : torch::nn::Module, SharedModule {
  VocabularyParallelEmbeddingImpl(const torch::nn::Embedding& whole, Group of);
  torch::Tensor forward(const torch::Tensor& ids) const;
  [[nodiscard]] TensorShare share_of(const torch::Tensor& parameter) const override;

  Group group;
  torch::Tensor weight;
};
TORCH_MODULE(VocabularyParallelEmbedding);

// The mean cross-entropy of logits [n, share of the vocabulary], as a ColumnParallelLinear returns
// them, and labels [n]. It is the same at all members.
[[nodiscard]] torch::Tensor vocabulary_parallel_cross_entropy(const torch::Tensor& logits,
                                                              const torch::Tensor& labels,
                                                              const Group& group);

}  // namespace ripeline::runtime
