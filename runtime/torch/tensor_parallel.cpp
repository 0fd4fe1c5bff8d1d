#include "runtime/torch/tensor_parallel.h"

#include <torch/csrc/autograd/custom_function.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace ripeline::runtime {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// A group in a form that autograd can store.
struct KeptGroup : torch::CustomClassHolder {
  explicit KeptGroup(Group of) : group(std::move(of)) {}
  Group group;
};

Tensor summed(const Tensor& tensor, const Group& group) {
  Tensor sum = tensor.detach().clone(at::MemoryFormat::Contiguous);
  group.sum(sum);
  return sum;
}

struct CopyToGroup : torch::autograd::Function<CopyToGroup> {
  static Tensor forward(AutogradContext* context, const Tensor& whole, const Group& group) {
    context->saved_data["group"] =
        torch::IValue::make_capsule(c10::make_intrusive<KeptGroup>(group));
    return whole.view_as(whole);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto kept = context->saved_data["group"].toCapsule();
    return {summed(gradients[0], static_cast<KeptGroup&>(*kept).group), Tensor()};
  }
};

struct SumOverGroup : torch::autograd::Function<SumOverGroup> {
  static Tensor forward(AutogradContext* /*context*/, const Tensor& part, const Group& group) {
    return summed(part, group);
  }
  static variable_list backward(AutogradContext* /*context*/, const variable_list& gradients) {
    return {gradients[0], Tensor()};
  }
};

TensorShare along(std::int64_t dimension, const Group& group, std::int64_t blocks = 1) {
  return {dimension, blocks, group.self(), group.size()};
}

}  // namespace

Tensor copy_to_group(const Tensor& whole, const Group& group) {
  return group.size() == 1 ? whole : CopyToGroup::apply(whole, group);
}

Tensor sum_over_group(const Tensor& part, const Group& group) {
  return group.size() == 1 ? part : SumOverGroup::apply(part, group);
}

ColumnParallelLinearImpl::ColumnParallelLinearImpl(const torch::nn::Linear& whole, Group of,
                                                   std::int64_t of_blocks)
    : group(std::move(of)),
      blocks(of_blocks),
      weight(register_parameter("weight", along(0, group, blocks).part_of(whole->weight))) {
  if (whole->bias.defined()) {
    bias = register_parameter("bias", along(0, group, blocks).part_of(whole->bias));
  }
}

TensorShare ColumnParallelLinearImpl::share_of(const Tensor& /*parameter*/) const {
  return along(0, group, blocks);
}

Tensor ColumnParallelLinearImpl::forward(const Tensor& x) const {
  return torch::linear(copy_to_group(x, group), weight, bias);
}

RowParallelLinearImpl::RowParallelLinearImpl(const torch::nn::Linear& whole, Group of)
    : group(std::move(of)),
      weight(register_parameter("weight", along(1, group).part_of(whole->weight))) {
  if (whole->bias.defined()) bias = register_parameter("bias", whole->bias.detach().clone());
}

TensorShare RowParallelLinearImpl::share_of(const Tensor& parameter) const {
  return parameter.is_same(weight) ? along(1, group) : TensorShare{};
}

Tensor RowParallelLinearImpl::forward(const Tensor& x) const {
  if (group.size() == 1) return torch::linear(x, weight, bias);
  const Tensor y = sum_over_group(torch::linear(x, weight), group);
  return bias.defined() ? y + bias.to(y.scalar_type()) : y;  // autocast changes the type of y
}

ParallelAttentionImpl::ParallelAttentionImpl(const torch::nn::Linear& whole_in,
                                             const torch::nn::Linear& whole_out,
                                             std::int64_t all_heads, bool causal,
                                             const Group& group)
    : heads(all_heads / group.size()),
      is_causal(causal),
      in(register_module("in", ColumnParallelLinear(whole_in, group, 3))),
      out(register_module("out", RowParallelLinear(whole_out, group))) {
  if (all_heads % group.size() != 0) {
    throw std::invalid_argument("attention: " + std::to_string(all_heads) +
                                " heads are no multiple of the group's " +
                                std::to_string(group.size()) + " members");
  }
}

Tensor ParallelAttentionImpl::forward(const Tensor& x) {
  const Tensor all = in(x);
  const auto [batch, length, width] = std::tuple(all.size(0), all.size(1), all.size(2) / 3);
  // The shape is [3, batch, head, position, width of a head].
  const Tensor qkv = all.view({batch, length, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
  const Tensor mixed = at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], /*attn_mask=*/{},
                                                        /*dropout_p=*/0, is_causal);
  return out(mixed.transpose(1, 2).reshape({batch, length, width}));
}

VocabularyParallelEmbeddingImpl::VocabularyParallelEmbeddingImpl(const torch::nn::Embedding& whole,
                                                                 Group of)
    : group(std::move(of)),
      weight(register_parameter("weight", along(0, group).part_of(whole->weight))) {}

TensorShare VocabularyParallelEmbeddingImpl::share_of(const Tensor& /*parameter*/) const {
  return along(0, group);
}

Tensor VocabularyParallelEmbeddingImpl::forward(const Tensor& ids) const {
  if (group.size() == 1) return torch::embedding(weight, ids);
  const std::int64_t rows = weight.size(0);
  const Tensor own = ids - group.self() * rows;
  const Tensor is_others = (own < 0).logical_or(own >= rows);
  const Tensor found = torch::embedding(weight, own.masked_fill(is_others, 0));
  return sum_over_group(found.masked_fill(is_others.unsqueeze(-1), 0), group);
}

Tensor vocabulary_parallel_cross_entropy(const Tensor& logits, const Tensor& labels,
                                         const Group& group) {
  if (group.size() == 1) return torch::cross_entropy_loss(logits, labels);
  Tensor most = logits.detach().amax(-1).contiguous();
  group.maximum(most);
  const Tensor shifted = logits - most.unsqueeze(-1);
  const Tensor sum = sum_over_group(shifted.exp().sum(-1), group);
  const std::int64_t columns = logits.size(-1);
  const Tensor own = labels - group.self() * columns;
  const Tensor is_others = (own < 0).logical_or(own >= columns);
  const Tensor target = shifted.gather(-1, own.masked_fill(is_others, 0).unsqueeze(-1)).squeeze(-1);
  return (sum.log() - sum_over_group(target.masked_fill(is_others, 0), group)).mean();
}

}  // namespace ripeline::runtime
