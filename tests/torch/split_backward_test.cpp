// Tests that a backward in two halves gives bitwise the gradients of a whole one, for every module.
#include "runtime/torch/split_backward.h"

#include <gmock/gmock.h>
#include <torch/csrc/autograd/function.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/any.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/modules/rnn.h>
#include <torch/nn/modules/transformerlayer.h>
#include <torch/utils.h>

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/torch/forward.h"

namespace ripeline::runtime {
namespace {

using torch::Tensor;

constexpr int kSplitMicrobatches = 3;

// A stage, and the input on which it is tested.
struct Model {
  std::shared_ptr<torch::nn::Module> module;
  std::function<Tensor(const Tensor& input)> forward;
  std::function<Tensor()> input;
  std::size_t deferred;  // the parameters whose gradients the second half computes
};

struct BlockImpl : torch::nn::Module {
  explicit BlockImpl(int width)
      : first(torch::nn::LayerNormOptions({width})),
        second(torch::nn::LayerNormOptions({width})),
        qkv(width, 3 * width),
        out(width, width),
        up(width, 4 * width),
        down(4 * width, width) {
    register_module("first", first);
    register_module("second", second);
    register_module("qkv", qkv);
    register_module("out", out);
    register_module("up", up);
    register_module("down", down);
  }
  Tensor forward(Tensor x) {
    const auto heads = [](const Tensor& t) {
      return t.view({t.size(0), t.size(1), 4, t.size(2) / 4}).transpose(1, 2);
    };
    const auto parts = qkv(first(x)).chunk(3, -1);
    const Tensor a = torch::scaled_dot_product_attention(heads(parts[0]), heads(parts[1]),
                                                         heads(parts[2]), {}, 0, true);
    x = x + out(a.transpose(1, 2).reshape(x.sizes()));
    return x + down(torch::gelu(up(second(x))));
  }
  torch::nn::LayerNorm first, second;
  torch::nn::Linear qkv, out, up, down;
};
TORCH_MODULE(Block);

// The first stage of a GPT; its input is numbers of tokens, which have no gradient.
struct FirstImpl : torch::nn::Module {
  FirstImpl() : token(50, 16), position(8, 16), block(16) {
    register_module("token", token);
    register_module("position", position);
    register_module("block", block);
  }
  Tensor forward(const Tensor& ids) {
    return block(token(ids) + position(torch::arange(ids.size(1))));
  }
  torch::nn::Embedding token, position;
  Block block;
};
TORCH_MODULE(First);

struct LstmImpl : torch::nn::Module {
  LstmImpl() : lstm(torch::nn::LSTMOptions(12, 12).num_layers(2).batch_first(true)) {
    register_module("lstm", lstm);
  }
  Tensor forward(const Tensor& x) { return std::get<0>(lstm(x)); }
  torch::nn::LSTM lstm;
};
TORCH_MODULE(Lstm);

struct AttentionImpl : torch::nn::Module {
  AttentionImpl() : attention(torch::nn::MultiheadAttentionOptions(12, 3)) {
    register_module("attention", attention);
  }
  Tensor forward(const Tensor& x) { return std::get<0>(attention(x, x, x)); }
  torch::nn::MultiheadAttention attention;
};
TORCH_MODULE(Attention);

// A stage with custom arithmetic, a weight used twice, and a weight on a branch without the input.
struct OwnImpl : torch::nn::Module {
  OwnImpl() {
    w = register_parameter("w", torch::randn({12, 12}) * 0.3);
    s = register_parameter("s", torch::randn({12}));
    b = register_parameter("b", torch::randn({12}));
    alone = register_parameter("alone", torch::randn({12}));
  }
  Tensor forward(const Tensor& x) {
    const Tensor once = torch::tanh(x.matmul(w * s) * s + b);
    return once.matmul(w) + torch::sin(alone) * alone;
  }
  Tensor w, s, b, alone;
};
TORCH_MODULE(Own);

template <class Module>
Model of(Module module, std::function<Tensor()> input, std::size_t deferred) {
  return {.module = module.ptr(),
          .forward = [module](const Tensor& x) mutable { return module->forward(x); },
          .input = std::move(input),
          .deferred = deferred};
}

std::function<Tensor()> floats(std::vector<std::int64_t> shape) {
  return [shape] { return torch::randn(shape).requires_grad_(true); };
}

using Make = std::function<Model()>;

const std::map<std::string, Make>& models() {
  static const std::map<std::string, Make> all = {
      {"gpt_blocks",
       [] {
         return of(torch::nn::Sequential(Block(16), Block(16)), floats({2, 8, 16}), 16);
       }},
      {"gpt_first_stage",
       [] {
         return of(
             First(),
             [] {
               return torch::randint(50, {2, 8});
             },
             10);
       }},
      {"convolution",
       [] {
         return of(
             torch::nn::Sequential(torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 4, 3).padding(1)),
                                   torch::nn::BatchNorm2d(4), torch::nn::ReLU(),
                                   torch::nn::Conv2d(torch::nn::Conv2dOptions(4, 3, 3).padding(1))),
             floats({2, 3, 6, 6}), 4);
       }},
      {"lstm",
       [] {
         return of(Lstm(), floats({2, 5, 12}), 8);
       }},
      {"attention",
       [] {
         return of(Attention(), floats({5, 2, 12}), 4);
       }},
      {"encoder_layer_with_dropout",
       [] {
         return of(torch::nn::Sequential(torch::nn::AnyModule(torch::nn::TransformerEncoderLayer(
                       torch::nn::TransformerEncoderLayerOptions(12, 3).dim_feedforward(24).dropout(
                           0.2)))),
                   floats({5, 2, 12}), 8);
       }},
      {"own_arithmetic",
       [] {
         return of(Own(), floats({3, 12}), 4);
       }},
      {"in_place",
       [] {
         return of(torch::nn::Sequential(torch::nn::Linear(12, 12),
                                         torch::nn::ReLU(torch::nn::ReLUOptions(true)),
                                         torch::nn::Linear(12, 12)),
                   floats({3, 12}), 4);
       }},
  };
  return all;
}

// The gradients of parameters by name, and of the input of each microbatch.
struct Gradients {
  std::map<std::string, Tensor> parameters;
  std::vector<Tensor> inputs;
  std::size_t computed = 0;  // the number of parameters' gradients from the first half
  std::size_t deferred = 0;  // as reported by the model
};

// The output of the model's forward, under autocast if `is_narrow`.
Tensor forward(const Model& model, const Tensor& input, bool is_narrow) {
  TorchModel how;
  if (is_narrow) how.autocast = torch::kBFloat16;
  TorchStage stage;
  stage.forward = model.forward;
  return run_forward(how, stage, {input}, {}).toTensor();
}

Gradients run(const Make& make, bool is_split, bool is_narrow) {
  torch::set_num_threads(1);  // sums are only the same with the same number of threads
  torch::manual_seed(7);
  const Model model = make();
  Gradients result;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  for (int m = 0; m < kSplitMicrobatches; ++m) {
    inputs.push_back(model.input());
    outputs.push_back(forward(model, inputs.back(), is_narrow));
  }
  std::vector<ParameterBackward> later(kSplitMicrobatches);
  for (int m = 0; m < kSplitMicrobatches; ++m) {
    const auto at = static_cast<std::size_t>(m);
    torch::manual_seed(100 + m);
    const Tensor gradient = torch::randn_like(outputs[at]);
    if (is_split) {
      result.inputs.push_back(
          backward_inputs({outputs[at]}, {gradient}, {inputs[at]}, later[at])[0]);
    } else {
      outputs[at].backward(gradient);
      result.inputs.push_back(inputs[at].grad());
    }
    outputs[at].reset();
  }
  result.computed = later[0].computed();
  result.deferred = model.deferred;
  for (ParameterBackward& half : later) half.run();
  for (const auto& item : model.module->named_parameters()) {
    result.parameters[item.key()] = item.value().grad();
  }
  return result;
}

class SplitBackward : public ::testing::TestWithParam<std::pair<const std::string, Make>> {};

void expect_equal(const Gradients& whole, const Gradients& halves) {
  ASSERT_EQ(whole.parameters.size(), halves.parameters.size());
  for (const auto& [name, gradient] : whole.parameters) {
    ASSERT_TRUE(gradient.defined()) << name;
    ASSERT_TRUE(halves.parameters.at(name).defined()) << name;
    EXPECT_TRUE(torch::equal(gradient, halves.parameters.at(name))) << name;
  }
  for (std::size_t m = 0; m < whole.inputs.size(); ++m) {
    ASSERT_EQ(whole.inputs[m].defined(), halves.inputs[m].defined());
    if (!whole.inputs[m].defined()) continue;
    EXPECT_TRUE(torch::equal(whole.inputs[m], halves.inputs[m]));
  }
  EXPECT_EQ(halves.computed + halves.deferred, whole.parameters.size());
}

TEST_P(SplitBackward, gives_bitwise_what_a_backward_in_one_piece_gives) {
  const Make& make = GetParam().second;
  expect_equal(run(make, false, false), run(make, true, false));
}

// Whether the model runs in bfloat16, where casts are nodes of the graph too. LibTorch runs an LSTM
// in bfloat16 only if oneDNN supports it on the processor, which requires AVX-512.
bool runs_narrow(const Make& make) try {
  const Model model = make();
  forward(model, model.input(), true);
  return true;
} catch (const std::exception& e) {
  if (std::string(e.what()).find("primitive descriptor") == std::string::npos) throw;
  return false;
}

TEST_P(SplitBackward, under_autocast_gives_bitwise_the_same_with_gradients_in_float32) {
  if (!runs_narrow(GetParam().second)) GTEST_SKIP() << "oneDNN cannot do it on this processor";
  const Make& make = GetParam().second;
  const Gradients halves = run(make, true, true);
  expect_equal(run(make, false, true), halves);
  const Gradients wide = run(make, true, false);
  bool is_narrow = false;
  for (const auto& [name, gradient] : halves.parameters) {
    EXPECT_EQ(gradient.scalar_type(), torch::kFloat) << name;
    is_narrow |= !torch::equal(gradient, wide.parameters.at(name));
  }
  EXPECT_TRUE(is_narrow) << "autocast changes nothing";
}

// Expects that the graph of a microbatch is destroyed, so no cycle of references exists.
void expect_nothing_kept(const Model& model, bool is_narrow) {
  std::vector<std::weak_ptr<torch::autograd::Node>> nodes;
  {
    const Tensor input = model.input();
    const Tensor output = forward(model, input, is_narrow);
    std::vector<std::shared_ptr<torch::autograd::Node>> open = {output.grad_fn()};
    while (!open.empty()) {
      const auto node = open.back();
      open.pop_back();
      nodes.push_back(node);
      for (const torch::autograd::Edge& edge : node->next_edges()) {
        if (edge.is_valid()) open.push_back(edge.function);
      }
    }
    ParameterBackward later;
    backward_inputs({output}, {torch::ones_like(output)}, {input}, later);
    EXPECT_GT(later.bytes(), 0);
    later.run();
    EXPECT_EQ(later.bytes(), 0);
  }
  EXPECT_GT(nodes.size(), 4U);
  for (const auto& node : nodes) EXPECT_TRUE(node.expired());
}

TEST_P(SplitBackward, keeps_nothing_once_both_halves_have_run) {
  for (const bool is_narrow : {false, true}) {
    if (is_narrow && !runs_narrow(GetParam().second)) {
      GTEST_SKIP() << "in float32 it holds; oneDNN cannot do it in bfloat16 on this processor";
    }
    torch::manual_seed(7);
    expect_nothing_kept(GetParam().second(), is_narrow);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SplitBackward, ::testing::ValuesIn(models()),
                         [](const auto& model) { return model.param.first; });

// The first half releases the values that the second half does not read.
TEST(SplitBackwardHalves, the_first_releases_what_the_second_does_not_need) {
  torch::nn::Linear first(4, 4);
  torch::nn::Linear second(4, 4);
  const Tensor input = torch::randn({2, 4}).requires_grad_(true);
  const auto watched = [](const Tensor& tensor) { return tensor.storage().getWeakStorageImpl(); };
  Tensor hidden = first(input);
  Tensor bent = torch::sin(hidden);
  Tensor output = second(bent);
  const auto of_hidden = watched(hidden);
  const auto of_bent = watched(bent);
  ParameterBackward later;
  backward_inputs({output}, {torch::ones_like(output)}, {input}, later);
  for (Tensor* tensor : {&hidden, &bent, &output}) tensor->reset();
  EXPECT_TRUE(of_hidden.expired()) << "sine's input";
  EXPECT_FALSE(of_bent.expired()) << "the input of a layer whose weight is left";
  later.run();
  EXPECT_TRUE(of_bent.expired());
}

TEST(SplitBackwardHalves, hooks_on_parameters_run_once) {
  torch::nn::LayerNorm norm(torch::nn::LayerNormOptions({4}));
  torch::nn::Linear linear(4, 4);
  const auto doubled = [](const Tensor& gradient) { return gradient * 2; };
  const Tensor input = torch::randn({2, 4}).requires_grad_(true);
  const auto gradients = [&](bool is_split) {
    const Tensor output = linear(norm(input));
    if (is_split) {
      ParameterBackward later;
      backward_inputs({output}, {torch::ones_like(output)}, {input}, later);
      later.run();
    } else {
      output.backward(torch::ones_like(output));
    }
    std::vector<Tensor> all;
    for (Tensor parameter : {norm->weight, norm->bias, linear->weight, linear->bias}) {
      all.push_back(parameter.grad());
      parameter.mutable_grad().reset();
    }
    return all;
  };
  for (const Tensor& parameter : {norm->weight, linear->weight}) parameter.register_hook(doubled);
  const std::vector<Tensor> whole = gradients(false);
  const std::vector<Tensor> halves = gradients(true);
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_TRUE(torch::equal(whole[i], halves[i]));
}

TEST(SplitBackwardHalves, a_hook_that_would_run_twice_is_refused) {
  torch::nn::Embedding token(10, 4);
  torch::nn::Embedding position(10, 4);
  const Tensor ids = torch::randint(10, {2, 3});
  const Tensor sum = token(ids) + position(ids);
  sum.register_hook([](const Tensor& gradient) { return gradient * 2; });
  ParameterBackward later;
  EXPECT_THAT([&] { backward_inputs({sum}, {torch::ones_like(sum)}, {ids}, later); },
              ::testing::ThrowsMessage<std::invalid_argument>(
                  ::testing::HasSubstr("would run twice in a split backward")));
}

TEST(SplitBackwardHalves, an_input_that_does_not_lead_to_the_output_gets_no_gradient) {
  torch::nn::Linear linear(4, 4);
  const Tensor used = torch::randn({2, 4}).requires_grad_(true);
  const Tensor idle = torch::randn({2, 4}).requires_grad_(true);
  const Tensor output = linear(used);
  ParameterBackward later;
  const auto gradients = backward_inputs({output}, {torch::ones_like(output)}, {idle, used}, later);
  EXPECT_FALSE(gradients[0].defined());
  EXPECT_TRUE(gradients[1].defined());
  later.run();
  EXPECT_TRUE(linear->weight.grad().defined());
}

}  // namespace
}  // namespace ripeline::runtime
