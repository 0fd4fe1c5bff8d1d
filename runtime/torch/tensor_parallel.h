// Layers that the members of a tensor-parallel rank compute together, each with its share of the
// weights (Shoeybi et al., Megatron-LM, 2019, section 3).
//
//   ColumnParallelLinear in(torch::nn::Linear(64, 256), group);   // shares of the 256 outputs
//   RowParallelLinear out(torch::nn::Linear(256, 64), group);     // takes shares, gives the sum
//
// Each layer is made from the layer that a single process would have, and takes its share of that
// layer's values: so a model starts the same however many members there are. A divided dimension
// must be a multiple of the group's size; else std::invalid_argument is thrown. In a group of one
// the results are bitwise those of the whole layer; otherwise sums have another order.
//
// Whole inputs and outputs are bitwise the same at all members, and so are their gradients. Modules
// tell which part a parameter is (SharedModule), and the trainer counts the gradients of all parts
// of a parameter together. Tasks that run these layers issue collectives: declare that in the
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
// The sum over the group; the gradient is passed on as it is.
[[nodiscard]] torch::Tensor sum_over_group(const torch::Tensor& part, const Group& group);

// x W^T + b, with a share of the rows of W and of b: takes the whole input, gives a share of the
// output. An output of several equal `blocks`, such as query, key and value, is shared block by
// block.
struct ColumnParallelLinearImpl : torch::nn::Module, SharedModule {
  ColumnParallelLinearImpl(const torch::nn::Linear& whole, Group of, std::int64_t of_blocks = 1);
  torch::Tensor forward(const torch::Tensor& x) const;
  [[nodiscard]] TensorShare share_of(const torch::Tensor& parameter) const override;

  Group group;
  std::int64_t blocks;
  torch::Tensor weight, bias;
};
TORCH_MODULE(ColumnParallelLinear);

// x W^T + b, with a share of the columns of W and all of b: takes a share of the input, gives the
// whole output.
struct RowParallelLinearImpl : torch::nn::Module, SharedModule {
  RowParallelLinearImpl(const torch::nn::Linear& whole, Group of);
  torch::Tensor forward(const torch::Tensor& x) const;
  [[nodiscard]] TensorShare share_of(const torch::Tensor& parameter) const override;

  Group group;
  torch::Tensor weight, bias;
};
TORCH_MODULE(RowParallelLinear);

// Multi-head attention of [batch, position, width], with a share of the heads. `in` gives query,
// key and value, in this order.
struct ParallelAttentionImpl : torch::nn::Module {
  ParallelAttentionImpl(const torch::nn::Linear& whole_in, const torch::nn::Linear& whole_out,
                        std::int64_t heads, bool is_causal, const Group& group);
  torch::Tensor forward(const torch::Tensor& x);

  std::int64_t heads;  // this member's
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

// The mean cross-entropy of logits [n, share of the vocabulary], as a ColumnParallelLinear gives
// them, and labels [n]; the same at all members.
[[nodiscard]] torch::Tensor vocabulary_parallel_cross_entropy(const torch::Tensor& logits,
                                                              const torch::Tensor& labels,
                                                              const Group& group);

}  // namespace ripeline::runtime
