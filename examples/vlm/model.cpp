#include "model.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/utils.h>

#include <cmath>
#include <memory>
#include <string>

#include "examples.h"

namespace vlm {
namespace {

namespace nn = torch::nn;
using torch::indexing::None;
using torch::indexing::Slice;

// Draws normal weights, scaled by the number of inputs in a Linear; sets biases and bridge to 0.
void initialise(nn::Module& module, const ModelConfig& config, int stage) {
  const torch::NoGradGuard no_grad;
  auto generator = at::make_generator<at::CPUGeneratorImpl>(config.seed * 1'000'003 +
                                                            static_cast<std::uint64_t>(stage));
  for (auto& item : module.named_parameters()) {
    const std::string& name = item.key();
    torch::Tensor& value = item.value();
    if (name.ends_with("bias") || name.starts_with("bridge")) {
      value.zero_();
    } else if (name.find("norm") != std::string::npos) {
      value.fill_(1);
    } else if (name.ends_with("embedding")) {
      value.normal_(0, 0.5, generator);
    } else {
      value.normal_(0, 1 / std::sqrt(static_cast<double>(value.size(1))), generator);
    }
  }
}

nn::LayerNorm norm(const ModelConfig& config) {
  return nn::LayerNorm(nn::LayerNormOptions({config.width}));
}

// Attention and an MLP, each behind a norm. `seen` is a mask of the positions that each position
// attends to; if it is undefined, every position attends to all.
struct BlockImpl : nn::Module {
  explicit BlockImpl(const ModelConfig& config)
      : heads(config.heads),
        attention_norm(register_module("attention_norm", norm(config))),
        attention_in(register_module("attention_in", nn::Linear(config.width, 3 * config.width))),
        attention_out(register_module("attention_out", nn::Linear(config.width, config.width))),
        mlp_norm(register_module("mlp_norm", norm(config))),
        mlp_in(register_module("mlp_in", nn::Linear(config.width, 4 * config.width))),
        mlp_out(register_module("mlp_out", nn::Linear(4 * config.width, config.width))) {}

  torch::Tensor forward(torch::Tensor x, const torch::Tensor& seen = {}) {
    x = x + attention(attention_norm(x), seen);
    return x + mlp_out(torch::gelu(mlp_in(mlp_norm(x))));
  }
  torch::Tensor attention(const torch::Tensor& x, const torch::Tensor& seen) {
    const std::int64_t batch = x.size(0), length = x.size(1), width = x.size(2);
    // The shape is [3, batch, head, position, width of a head].
    const torch::Tensor qkv =
        attention_in(x).view({batch, length, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
    const c10::optional<torch::Tensor> mask =
        seen.defined() ? c10::optional<torch::Tensor>(seen) : c10::nullopt;
    const torch::Tensor mixed = at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], mask);
    return attention_out(mixed.transpose(1, 2).reshape({batch, length, width}));
  }

  std::int64_t heads;
  nn::LayerNorm attention_norm;
  nn::Linear attention_in, attention_out;
  nn::LayerNorm mlp_norm;
  nn::Linear mlp_in, mlp_out;
};
TORCH_MODULE(Block);

// A mask [length, length]: a position sees itself, earlier ones, and the first `prefix` positions.
torch::Tensor causal(std::int64_t length, std::int64_t prefix) {
  torch::Tensor seen = torch::ones({length, length}, torch::kBool).tril();
  seen.index_put_({Slice(), Slice(None, prefix)}, true);
  return seen;
}

struct FirstOfVisionImpl : nn::Module {
  explicit FirstOfVisionImpl(const ModelConfig& config)
      : patch(register_module("patch", nn::Linear(3 * kPatch * kPatch, config.width))),
        place(register_module("place", nn::Linear(2, config.width))),
        block(register_module("block", Block(config))) {}
  // Returns [batch, patch, width].
  torch::Tensor forward(const torch::Tensor& images) {
    const std::int64_t rows = images.size(2) / kPatch, columns = images.size(3) / kPatch;
    // The shape is [batch, row, column, values of a patch].
    const torch::Tensor patches = images.unfold(2, kPatch, kPatch)
                                      .unfold(3, kPatch, kPatch)
                                      .permute({0, 2, 3, 1, 4, 5})
                                      .flatten(3);
    const torch::Tensor places =
        torch::stack(torch::meshgrid({across(rows), across(columns)}, "ij"), /*dim=*/2);
    const torch::Tensor x = patch(patches) + place(places);
    return block(x.flatten(1, 2));
  }
  // The centres of `count` patches in a row, in an image that reaches from -1 to 1.
  static torch::Tensor across(std::int64_t count) {
    return (torch::arange(count) * 2 + 1) / static_cast<double>(count) - 1;
  }
  nn::Linear patch, place;
  Block block;
};
TORCH_MODULE(FirstOfVision);

struct LastOfVisionImpl : nn::Module {
  explicit LastOfVisionImpl(const ModelConfig& config)
      : block(register_module("block", Block(config))),
        last_norm(register_module("last_norm", norm(config))),
        bridge(register_module("bridge", nn::Linear(config.width, config.width))) {}
  torch::Tensor forward(const torch::Tensor& x) { return bridge(last_norm(block(x))); }
  Block block;
  nn::LayerNorm last_norm;
  nn::Linear bridge;
};
TORCH_MODULE(LastOfVision);

struct TextImpl : nn::Module {
  explicit TextImpl(const ModelConfig& config)
      : word(register_parameter("word_embedding", torch::empty({config.vocabulary, config.width}))),
        position(
            register_parameter("position_embedding", torch::empty({kMostWords + 1, config.width}))),
        block(register_module("block", Block(config))) {}
  // Returns [batch, word, width].
  torch::Tensor forward(const torch::Tensor& words) {
    const std::int64_t length = words.size(1);
    return block(torch::embedding(word, words) + position.slice(0, 0, length), causal(length, 0));
  }
  torch::Tensor word, position;
  Block block;
};
TORCH_MODULE(Text);

struct DecoderImpl : nn::Module {
  explicit DecoderImpl(const ModelConfig& config)
      : of_image(register_parameter("image_embedding", torch::empty(config.width))),
        first(register_module("first", Block(config))),
        second(register_module("second", Block(config))),
        last_norm(register_module("last_norm", norm(config))),
        logits(register_module("logits", nn::Linear(config.width, config.vocabulary))) {}
  torch::Tensor forward(const torch::Tensor& image, const torch::Tensor& text) {
    const std::int64_t patches = image.size(1);
    const torch::Tensor seen = causal(patches + text.size(1), patches);
    const torch::Tensor x = second(first(torch::cat({image + of_image, text}, 1), seen), seen);
    return logits(last_norm(x.slice(1, patches)));
  }
  torch::Tensor of_image;  // added to the positions of an image, to mark them as such
  Block first, second;
  nn::LayerNorm last_norm;
  nn::Linear logits;
};
TORCH_MODULE(Decoder);

template <class Module>
ripeline::runtime::TorchStage make(const ModelConfig& config, int stage) {
  Module module(config);
  initialise(*module, config, stage);
  return ripeline::runtime::make_stage(module);
}

}  // namespace

ripeline::runtime::TorchStage make_stage(const ModelConfig& config, int stage) {
  switch (stage) {
    case kFirstOfVision:
      return make<FirstOfVision>(config, stage);
    case kFirstOfVision + 1:
      return make<LastOfVision>(config, stage);
    case kText:
      return make<Text>(config, stage);
    default:
      return make<Decoder>(config, stage);
  }
}

torch::Tensor loss(const torch::Tensor& logits, const torch::Tensor& labels) {
  return torch::cross_entropy_loss(logits.flatten(0, 1), labels.flatten());
}

}  // namespace vlm
