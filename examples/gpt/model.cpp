#include "model.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/torch/tensor_parallel.h"

namespace gpt {
namespace {

using ripeline::runtime::ColumnParallelLinear;
using ripeline::runtime::Group;
using ripeline::runtime::NamedTensor;
using ripeline::runtime::ParallelAttention;
using ripeline::runtime::RowParallelLinear;
using ripeline::runtime::TorchStage;
using ripeline::runtime::VocabularyParallelEmbedding;

// Makes the layers of part number `part` of the model, with their first values: weights are normal
// and scaled as in GPT-2, and biases are 0.
class Maker {
 public:
  Maker(const ModelConfig& config, int part)
      : generator_(at::make_generator<at::CPUGeneratorImpl>(config.seed * 1'000'003 +
                                                            static_cast<std::uint64_t>(part))),
        residual_(kScale / std::sqrt(2.0 * config.layers)) {}

  torch::nn::Linear linear(std::int64_t in, std::int64_t out) { return linear(in, out, kScale); }
  // Makes a layer whose output is added to the input of its block.
  torch::nn::Linear residual(std::int64_t in, std::int64_t out) {
    return linear(in, out, residual_);
  }
  torch::nn::Embedding embedding(std::int64_t rows, std::int64_t width) {
    const torch::NoGradGuard no_grad;
    torch::nn::Embedding made(rows, width);
    made->weight.normal_(0, kScale, generator_);
    return made;
  }
  static torch::nn::LayerNorm norm(std::int64_t width) {
    return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
  }

 private:
  static constexpr double kScale = 0.02;

  torch::nn::Linear linear(std::int64_t in, std::int64_t out, double scale) {
    const torch::NoGradGuard no_grad;
    torch::nn::Linear made(in, out);
    made->weight.normal_(0, scale, generator_);
    made->bias.zero_();
    return made;
  }

  at::Generator generator_;
  double residual_;
};

struct EmbeddingImpl : torch::nn::Module {
  EmbeddingImpl(const ModelConfig& config, Maker make, const Group& group)
      : dropout(config.dropout),
        token(register_module("token", VocabularyParallelEmbedding(
                                           make.embedding(kVocabulary, config.width), group))),
        position(register_module("position", make.embedding(config.context, config.width))) {}
  torch::Tensor forward(const torch::Tensor& bytes) {
    const torch::Tensor places = torch::arange(bytes.size(1), bytes.options());
    return torch::dropout(token(bytes) + position(places), dropout, true);
  }
  double dropout;
  VocabularyParallelEmbedding token;
  torch::nn::Embedding position;
};
TORCH_MODULE(Embedding);

ParallelAttention make_attention(const ModelConfig& config, Maker& make, const Group& group) {
  const torch::nn::Linear in = make.linear(config.width, 3 * config.width);
  const torch::nn::Linear out = make.residual(config.width, config.width);
  return ParallelAttention(in, out, config.heads, /*is_causal=*/true, group);
}

struct BlockImpl : torch::nn::Module {
  BlockImpl(const ModelConfig& config, Maker make, const Group& group)
      : dropout(config.dropout),
        attention_norm(register_module("attention_norm", Maker::norm(config.width))),
        attention(register_module("attention", make_attention(config, make, group))),
        mlp_norm(register_module("mlp_norm", Maker::norm(config.width))),
        mlp_in(register_module(
            "mlp_in", ColumnParallelLinear(make.linear(config.width, 4 * config.width), group))),
        mlp_out(register_module(
            "mlp_out", RowParallelLinear(make.residual(4 * config.width, config.width), group))) {}

  torch::Tensor forward(torch::Tensor x) {
    x = x + torch::dropout(attention(attention_norm(x)), dropout, true);
    return x + torch::dropout(mlp_out(torch::gelu(mlp_in(mlp_norm(x)))), dropout, true);
  }

  double dropout;
  torch::nn::LayerNorm attention_norm;
  ParallelAttention attention;
  torch::nn::LayerNorm mlp_norm;
  ColumnParallelLinear mlp_in;
  RowParallelLinear mlp_out;
};
TORCH_MODULE(Block);

torch::nn::Linear make_logits(const ModelConfig& config, Maker& make) {
  const torch::NoGradGuard no_grad;
  torch::nn::Linear made = make.linear(config.width, kVocabulary);
  if (config.tied) {
    made->weight.copy_(Maker(config, 0).embedding(kVocabulary, config.width)->weight);
  }
  return made;
}

// Returns the group member's share of the logits.
struct HeadImpl : torch::nn::Module {
  HeadImpl(const ModelConfig& config, Maker make, const Group& group)
      : norm(register_module("norm", Maker::norm(config.width))),
        logits(register_module("logits", ColumnParallelLinear(make_logits(config, make), group))) {}
  torch::Tensor forward(const torch::Tensor& x) { return logits(norm(x)); }
  torch::nn::LayerNorm norm;
  ColumnParallelLinear logits;
};
TORCH_MODULE(Head);

// The parts of one stage, registered under the names that they have in the whole model.
struct StageImpl : torch::nn::Module {
  StageImpl(const ModelConfig& config, int stage, int stages, const Group& group) {
    if (stage == 0) {
      embedding = register_module("embedding", Embedding(config, Maker(config, 0), group));
    }
    for (int i = config.layers * stage / stages; i < config.layers * (stage + 1) / stages; ++i) {
      blocks.push_back(register_module("blocks_" + std::to_string(i),
                                       Block(config, Maker(config, 1 + i), group)));
    }
    if (stage == stages - 1) {
      head = register_module("head", Head(config, Maker(config, 1 + config.layers), group));
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

bool is_matrix_of_tokens(const NamedTensor& parameter) {
  return parameter.name == "embedding.token.weight" || parameter.name == "head.logits.weight";
}

torch::Tensor& matrix_of_tokens(TorchStage& stage) {
  return std::find_if(stage.parameters.begin(), stage.parameters.end(), is_matrix_of_tokens)
      ->tensor;
}

}  // namespace

TorchStage make_stage(const ModelConfig& config, int stage, int stages, c10::Device device,
                      const Group& group) {
  auto module = std::make_shared<StageImpl>(config, stage, stages, group);
  module->to(device);
  TorchStage made = ripeline::runtime::make_stage(module);
  for (NamedTensor& parameter : made.parameters) {
    if (config.tied && is_matrix_of_tokens(parameter)) parameter.tied = "tokens";
  }
  return made;
}

std::vector<TorchStage> make_whole(const ModelConfig& config, int stages, c10::Device device) {
  std::vector<TorchStage> whole;
  std::shared_ptr<StageImpl> last;
  for (int stage = 0; stage < stages; ++stage) {
    last = std::make_shared<StageImpl>(config, stage, stages, Group());
    last->to(device);
    whole.push_back(ripeline::runtime::make_stage(last));
  }
  if (config.tied) {
    last->head->logits->weight = matrix_of_tokens(whole.front());
    matrix_of_tokens(whole.back()) = last->head->logits->weight;
  }
  return whole;
}

ripeline::runtime::ValueFunction loss(const Group& group) {
  return [group](const torch::Tensor& logits, const torch::Tensor& labels) {
    return vocabulary_parallel_cross_entropy(logits.flatten(0, 1), labels.flatten(), group);
  };
}

}  // namespace gpt
