// What a stage keeps for its backward goes to the host's memory and comes back: the same gradients
// to the bit, of any kind of model, and no more on the device than is proved.
#include <gmock/gmock.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/torch.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "core/draw.h"
#include "runtime/torch/kept_tensors.h"
#include "runtime/torch/value_codec.h"
#include "spec/elaborate.h"
#include "tests/torch/one_stage.h"
#include "tests/torch/pipeline.h"
#include "tests/torch/side_by_side.h"
#include "verify/verify.h"

namespace ripeline::runtime {
namespace {

using namespace std::chrono_literals;
using core::Status;
using ripeline::testing::kOffloadWays;
using ripeline::testing::offloading_chain;
using ripeline::testing::OneStage;
using ripeline::testing::Outcome;
using ripeline::testing::Pipeline;
using ripeline::testing::TakenBytes;
using ripeline::testing::train_side_by_side;
using ripeline::testing::Training;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using torch::IValue;
using torch::Tensor;

// ---- Kinds of models -------------------------------------------------------------------------

// Saves its input, and a tensor that it makes.
struct Cube : torch::autograd::Function<Cube> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x) {
    const Tensor square = x * x;
    context->save_for_backward({x, square});
    return square * x;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    return {gradients[0] * saved[1] * 2 + gradients[0] * saved[0] * saved[0]};
  }
};

constexpr std::int64_t kWide = 16;

struct AttentionImpl : torch::nn::Module {
  AttentionImpl() {
    norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({kWide})));
    qkv = register_module("qkv", torch::nn::Linear(kWide, 3 * kWide));
    out = register_module("out", torch::nn::Linear(kWide, kWide));
    mask = register_buffer("mask", torch::ones({6, 6}).tril().log());
  }
  Tensor forward(const Tensor& x) {
    const std::vector<Tensor> parts = qkv(norm(x)).chunk(3, -1);
    const auto heads = [](const Tensor& t) { return t.view({4, 6, 2, 8}).transpose(1, 2); };
    const Tensor scores = heads(parts[0]).matmul(heads(parts[1]).transpose(-2, -1)) / 2.83 + mask;
    const Tensor mixed = torch::dropout(scores.softmax(-1), 0.1, true).matmul(heads(parts[2]));
    return x + out(mixed.transpose(1, 2).reshape({4, 6, kWide}));
  }
  torch::nn::LayerNorm norm{nullptr};
  torch::nn::Linear qkv{nullptr}, out{nullptr};
  Tensor mask;
};
TORCH_MODULE(Attention);

struct TiedImpl : torch::nn::Module {
  TiedImpl() { weight = register_parameter("weight", torch::randn({kWide, kWide}) * 0.3); }
  Tensor forward(const Tensor& x) {
    return torch::gelu(x.matmul(weight)).matmul(weight.t()).relu_();
  }
  Tensor weight;
};
TORCH_MODULE(Tied);

struct RecurrentImpl : torch::nn::Module {
  RecurrentImpl() {
    lstm =
        register_module("lstm", torch::nn::LSTM(torch::nn::LSTMOptions(kWide, 12).num_layers(2)));
  }
  Tensor forward(const Tensor& x) { return std::get<0>(lstm(x)); }
  torch::nn::LSTM lstm{nullptr};
};
TORCH_MODULE(Recurrent);

template <class Function>
TorchStage stage_of(Function function) {
  TorchStage stage;
  stage.forward = function;
  return stage;
}

struct Model {
  const char* name;
  TorchStage (*make)();
};

const Model kModels[] = {
    {"linear", [] { return make_stage(torch::nn::Linear(kWide, kWide)); }},
    {"layer_norm",
     [] { return make_stage(torch::nn::LayerNorm(torch::nn::LayerNormOptions({kWide}))); }},
    {"attention", [] { return make_stage(Attention()); }},
    {"encoder_layer",
     [] {
       return make_stage(
           torch::nn::TransformerEncoderLayer(torch::nn::TransformerEncoderLayerOptions(kWide, 2)));
     }},
    {"convolutions",
     [] {
       return make_stage(torch::nn::Sequential(
           torch::nn::Conv1d(torch::nn::Conv1dOptions(6, 6, 3).padding(1)),
           torch::nn::BatchNorm1d(6), torch::nn::ReLU(torch::nn::ReLUOptions(true)),
           torch::nn::AvgPool1d(torch::nn::AvgPool1dOptions(2).stride(1))));
     }},
    {"lstm", [] { return make_stage(Recurrent()); }},
    {"dropout",
     [] {
       return make_stage(torch::nn::Sequential(torch::nn::Linear(kWide, kWide),
                                               torch::nn::Dropout(0.4), torch::nn::Tanh()));
     }},
    {"tied_and_in_place", [] { return make_stage(Tied()); }},
    {"views",
     [] {
       return stage_of([](const Tensor& x) {
         const Tensor flat = x.sin().view({24, kWide});
         return flat.slice(1, 0, 8).unsqueeze(2).expand({24, 8, 3}) *
                flat.slice(1, 8, 16).unsqueeze(2);
       });
     }},
    {"own_function", [] { return stage_of([](const Tensor& x) { return Cube::apply(x); }); }},
    {"its_input_again", [] { return stage_of([](const Tensor& x) { return x; }); }},
    {"part_of_its_input",
     [] { return stage_of([](const Tensor& x) { return x.slice(1, 0, 2).exp(); }); }},
    {"several_outputs",
     [] {
       return stage_of([](const StageInputs& inputs) {
         const Tensor x = inputs[0].toTensor();
         return std::make_tuple(x.tanh(), x.argmax(-1), x.mean());
       });
     }},
    {"complex", [] {
       return stage_of([](const Tensor& x) {
         const Tensor y = torch::fft_rfft(x);
         return torch::real(y * y.conj()).sqrt();
       });
     }}};

std::ostream& operator<<(std::ostream& out, const Model& model) { return out << model.name; }

IValue input_of(int microbatch) {
  return ripeline::testing::random_tensor(microbatch, {4, 6, kWide});
}

// Random gradients of what the stage gave, where it has some.
IValue gradients_of(const IValue& given, int microbatch) {
  std::vector<IValue> gradients;
  for (const Tensor& tensor : tensors_of(given)) {
    gradients.push_back(tensor.is_floating_point() ? IValue(ripeline::testing::random_tensor(
                                                         70 + microbatch, tensor.sizes().vec()))
                                                   : IValue());
  }
  return c10::ivalue::Tuple::create(std::move(gradients));
}

bool needs(const std::string& program, const char* what) {
  return program.find(what) != std::string::npos;
}

// Whether the op gets the gradients of the next stage.
bool gets_gradients(const std::string& program, char op) {
  if (op == 'L') return needs(program, "O at here, B at next");
  if (op == 'B') return needs(program, "L at here, B at next") || needs(program, "F at here, B");
  return op == 'I';
}

// What two microbatches give by the ops in `order`, such as F0 F1 B0 B1: outputs, gradients of the
// inputs, and then those of the parameters.
std::vector<Tensor> train(const Model& model, const std::string& program, const std::string& order,
                          const std::function<void(TorchStage&)>& change = nullptr) {
  torch::manual_seed(3);
  TorchStage stage = model.make();
  if (change) change(stage);
  OneStage tasks(program, stage);
  std::vector<Tensor> result;
  std::map<int, IValue> gradients;
  for (std::size_t at = 0; at < order.size(); at += 3) {
    const char op = order[at];
    const int microbatch = order[at + 1] - '0';
    IValue input;
    if (op == 'F') input = input_of(microbatch);
    if (gets_gradients(program, op)) input = gradients[microbatch];
    const Status status = tasks.run(op, microbatch, input);
    EXPECT_TRUE(status.ok()) << model.name << ", " << order << ": " << status.message();
    if (!status.ok()) return {};
    if (op == 'F') gradients[microbatch] = gradients_of(tasks.given(), microbatch);
    if (!tasks.given().isNone()) {
      for (const Tensor& tensor : tensors_of(tasks.given())) {
        result.push_back(tensor.defined() ? tensor.clone() : tensor);
      }
    }
    tasks.drop_given();
  }
  for (const NamedTensor& parameter : stage.parameters) result.push_back(parameter.tensor.grad());
  EXPECT_EQ(tasks.work().live(), 0U);
  return result;
}

// To the bit; which are not.
std::vector<std::size_t> differences(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  EXPECT_EQ(a.size(), b.size());
  std::vector<std::size_t> different;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const bool both = a[i].defined() && b[i].defined();
    if (both ? !a[i].equal(b[i]) : a[i].defined() != b[i].defined()) different.push_back(i);
  }
  return different;
}

class OffloadedModel : public ::testing::TestWithParam<Model> {};

TEST_P(OffloadedModel, gives_bitwise_the_gradients_of_a_kept_graph) {
  const std::vector<Tensor> kept =
      train(GetParam(), ripeline::testing::chain(3, true), "F0 F1 B0 B1 ");
  ASSERT_FALSE(kept.empty());
  for (const char* const order : {"F0 O0 F1 O1 L0 B0 L1 B1 ", "F0 F1 O1 O0 L0 L1 B0 B1 "}) {
    EXPECT_THAT(differences(train(GetParam(), offloading_chain(3, "whole"), order), kept),
                ElementsAre())
        << order;
  }
}

TEST_P(OffloadedModel, does_so_in_two_halves) {
  const std::vector<Tensor> kept =
      train(GetParam(), ripeline::testing::split_chain(3), "F0 F1 I0 I1 W0 W1 ");
  EXPECT_THAT(
      differences(train(GetParam(), offloading_chain(3, "split"), "F0 O0 F1 O1 L0 I0 L1 I1 W0 W1 "),
                  kept),
      ElementsAre());
}

TEST_P(OffloadedModel, does_so_from_its_inputs_alone) {
  const auto recomputes = [](TorchStage& stage) { stage.recompute = true; };
  const std::vector<Tensor> kept =
      train(GetParam(), ripeline::testing::chain(3, true), "F0 F1 B0 B1 ", recomputes);
  EXPECT_THAT(differences(train(GetParam(), offloading_chain(3, "recompute"),
                                "F0 O0 F1 O1 L0 R0 B0 L1 R1 B1 ", recomputes),
                          kept),
              ElementsAre());
  EXPECT_THAT(differences(train(GetParam(), offloading_chain(3, "whole"),
                                "F0 O0 F1 O1 L0 B0 L1 B1 ", recomputes),
                          kept),
              ElementsAre());
}

// LibTorch keeps a number that a tensor is multiplied by as a tensor, of which nobody asks hooks.
constexpr std::int64_t kNumbers = 64;

// By LibTorch's own account of its memory.
TEST_P(OffloadedModel, leaves_nothing_on_the_device) {
  for (const bool recomputes : {false, true}) {
    torch::manual_seed(3);
    TorchStage stage = GetParam().make();
    stage.recompute = recomputes;
    OneStage tasks(offloading_chain(3, "whole"), stage);
    const TakenBytes taken;
    ASSERT_TRUE(tasks.run('F', 0, input_of(0)).ok());
    const std::int64_t before = taken.now();
    const IValue gradients = gradients_of(tasks.given(), 0);
    const std::int64_t others = taken.now() - before;
    ASSERT_TRUE(tasks.run('O', 0).ok());
    std::int64_t message = 0;  // that waits to leave
    for (const Tensor& tensor : tensors_of(tasks.given())) {
      message += static_cast<std::int64_t>(tensor.nbytes());
    }
    EXPECT_LE(taken.now() - others, message + kNumbers);
    tasks.drop_given();
    EXPECT_LE(taken.now() - others, kNumbers);
    EXPECT_GE(taken.now() - others, 0);
    ASSERT_TRUE(tasks.run('L', 0, gradients).ok());
    const std::int64_t back = taken.now() - others;
    const OffloadReport report = tasks.work().offloaded();
    EXPECT_GE(back, report.microbatch);
    EXPECT_LE(back, report.microbatch + kNumbers);
    EXPECT_EQ(report.here, report.microbatch);
    EXPECT_EQ(report.away, report.microbatch);
    ASSERT_TRUE(tasks.run('B', 0).ok());
    tasks.drop_given();
    tasks.work().zero_gradients();
    EXPECT_LE(taken.now() - others, kNumbers);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, OffloadedModel, ::testing::ValuesIn(kModels),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace ripeline::runtime
