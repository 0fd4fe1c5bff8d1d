#include "model.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/torch.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gpt {
namespace {

// Normal weights, scaled as GPT-2's are; biases 0, norms 1. `unit` numbers the model's parts.
void initialise(torch::nn::Module& module, const ModelConfig& config, int unit) {
  const torch::NoGradGuard no_grad;
  auto generator = at::make_generator<at::CPUGeneratorImpl>(config.seed * 1'000'003 +
                                                            static_cast<std::uint64_t>(unit));
  const double residual = 0.02 / std::sqrt(2.0 * config.layers);
  for (auto& item : module.named_parameters()) {
    const std::string& name = item.key();
    if (name.ends_with("bias")) {
      item.value().zero_();
    } else if (name.find("norm") != std::string::npos) {
      item.value().fill_(1);
    } else {
      item.value().normal_(0, name.find("_out") != std::string::npos ? residual : 0.02, generator);
    }
  }
}

struct EmbeddingImpl : torch::nn::Module {
  explicit EmbeddingImpl(const ModelConfig& config)
      : dropout(config.dropout),
        token(register_module("token", torch::nn::Embedding(kVocabulary, config.width))),
        position(register_module("position", torch::nn::Embedding(config.context, config.width))) {}
  torch::Tensor forward(const torch::Tensor& bytes) {
    return torch::dropout(token(bytes) + position(torch::arange(bytes.size(1))), dropout, true);
  }
  double dropout;
  torch::nn::Embedding token, position;
};
TORCH_MODULE(Embedding);

struct BlockImpl : torch::nn::Module {
  explicit BlockImpl(const ModelConfig& config)
      : heads(config.heads),
        dropout(config.dropout),
        attention_norm(register_module("attention_norm", norm(config.width))),
        attention_in(
            register_module("attention_in", torch::nn::Linear(config.width, 3 * config.width))),
        attention_out(
            register_module("attention_out", torch::nn::Linear(config.width, config.width))),
        mlp_norm(register_module("mlp_norm", norm(config.width))),
        mlp_in(register_module("mlp_in", torch::nn::Linear(config.width, 4 * config.width))),
        mlp_out(register_module("mlp_out", torch::nn::Linear(4 * config.width, config.width))) {}

  torch::Tensor forward(torch::Tensor x) {
    x = x + torch::dropout(attention(attention_norm(x)), dropout, true);
    return x + torch::dropout(mlp_out(torch::gelu(mlp_in(mlp_norm(x)))), dropout, true);
  }
  torch::Tensor attention(const torch::Tensor& x) {
    const auto [batch, length, width] = std::tuple(x.size(0), x.size(1), x.size(2));
    // [3, batch, head, position, width of a head]
    const torch::Tensor qkv =
        attention_in(x).view({batch, length, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
    const torch::Tensor mixed = at::scaled_dot_product_attention(
        qkv[0], qkv[1], qkv[2], /*attn_mask=*/{}, /*dropout_p=*/0, /*is_causal=*/true);
    return attention_out(mixed.transpose(1, 2).reshape({batch, length, width}));
  }
  static torch::nn::LayerNorm norm(std::int64_t width) {
    return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
  }

  std::int64_t heads;
  double dropout;
  torch::nn::LayerNorm attention_norm;
  torch::nn::Linear attention_in, attention_out;
  torch::nn::LayerNorm mlp_norm;
  torch::nn::Linear mlp_in, mlp_out;
};
TORCH_MODULE(Block);

struct HeadImpl : torch::nn::Module {
  explicit HeadImpl(const ModelConfig& config)
      : norm(register_module("norm", BlockImpl::norm(config.width))),
        logits(register_module("logits", torch::nn::Linear(config.width, kVocabulary))) {}
  torch::Tensor forward(const torch::Tensor& x) { return logits(norm(x)); }
  torch::nn::LayerNorm norm;
  torch::nn::Linear logits;
};
TORCH_MODULE(Head);

// The parts of one stage. Registered under the names that they have in the whole model.
struct StageImpl : torch::nn::Module {
  StageImpl(const ModelConfig& config, int stage, int stages) {
    if (stage == 0) {
      embedding = register_module("embedding", Embedding(config));
      initialise(*embedding, config, 0);
    }
    for (int i = config.layers * stage / stages; i < config.layers * (stage + 1) / stages; ++i) {
      blocks.push_back(register_module("blocks_" + std::to_string(i), Block(config)));
      initialise(*blocks.back(), config, 1 + i);
    }
    if (stage == stages - 1) {
      head = register_module("head", Head(config));
      initialise(*head, config, 1 + config.layers);
    }
  }
  torch::Tensor forward(torch::Tensor x) {
    if (embedding) x = embedding(x);
    for (Block& block : blocks) x = block(x);
    return head ? head(x) : x;
  }
  Embedding embedding{nullptr};
  std::vector<Block> blocks;
  Head head{nullptr};
};

}  // namespace

ripeline::runtime::TorchStage make_stage(const ModelConfig& config, int stage, int stages) {
  return ripeline::runtime::make_stage(std::make_shared<StageImpl>(config, stage, stages));
}

torch::Tensor loss(const torch::Tensor& logits, const torch::Tensor& labels) {
  return torch::cross_entropy_loss(logits.flatten(0, 1), labels.flatten());
}

}  // namespace gpt
