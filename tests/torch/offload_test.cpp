// Tests that values which a stage stores for its backward are copied to the host's memory and back:
// every model gets bitwise the same gradients, and the device holds no more than is proved.
#include <gmock/gmock.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/modules/pooling.h>
#include <torch/nn/modules/rnn.h>
#include <torch/nn/modules/transformerlayer.h>
#include <torch/utils.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "runtime/torch/saved_tensors.h"
#include "runtime/torch/train.h"
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
using ripeline::testing_support::kOffloadWays;
using ripeline::testing_support::late_at_random;
using ripeline::testing_support::offloading_chain;
using ripeline::testing_support::OneStage;
using ripeline::testing_support::Outcome;
using ripeline::testing_support::Pipeline;
using ripeline::testing_support::TakenBytes;
using ripeline::testing_support::train_side_by_side;
using ripeline::testing_support::Training;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using torch::IValue;
using torch::Tensor;

// ---- Kinds of models -------------------------------------------------------------------------

// Saves its input, and a tensor that it creates itself.
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
    {"piece_of_a_sum",
     [] {
       return stage_of([](const StageInputs& inputs) {
         const std::vector<Tensor> parts = (inputs[0].toTensor() + 1).chunk(2, -1);
         return std::make_tuple(parts[1], parts[1].sin());
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
  return ripeline::testing_support::random_tensor(microbatch, {4, 6, kWide});
}

// Random gradients, one for each output of the stage that has a gradient.
IValue gradients_of(const IValue& given, int microbatch) {
  std::vector<IValue> gradients;
  for (const Tensor& tensor : tensors_of(given)) {
    gradients.push_back(tensor.is_floating_point()
                            ? IValue(ripeline::testing_support::random_tensor(70 + microbatch,
                                                                              tensor.sizes().vec()))
                            : IValue());
  }
  return c10::ivalue::Tuple::create(std::move(gradients));
}

bool needs(const std::string& program, const char* what) {
  return program.find(what) != std::string::npos;
}

// Whether the op receives the gradients of the next stage.
bool gets_gradients(const std::string& program, char op) {
  if (op == 'L') return needs(program, "O at here, B at next");
  if (op == 'B') return needs(program, "L at here, B at next") || needs(program, "F at here, B");
  return op == 'I';
}

// The results of two microbatches for the ops in `order`, such as F0 F1 B0 B1: outputs, then the
// gradients of the inputs, then those of the parameters.
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

// The indices of the tensors that differ bitwise.
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
      train(GetParam(), ripeline::testing_support::chain(3, true), "F0 F1 B0 B1 ");
  ASSERT_FALSE(kept.empty());
  for (const char* const order : {"F0 O0 F1 O1 L0 B0 L1 B1 ", "F0 F1 O1 O0 L0 L1 B0 B1 "}) {
    EXPECT_THAT(differences(train(GetParam(), offloading_chain(3, "whole"), order), kept),
                ElementsAre())
        << order;
  }
}

TEST_P(OffloadedModel, does_so_in_two_halves) {
  const std::vector<Tensor> kept =
      train(GetParam(), ripeline::testing_support::split_chain(3), "F0 F1 I0 I1 W0 W1 ");
  EXPECT_THAT(
      differences(train(GetParam(), offloading_chain(3, "split"), "F0 O0 F1 O1 L0 I0 L1 I1 W0 W1 "),
                  kept),
      ElementsAre());
}

TEST_P(OffloadedModel, does_so_from_its_inputs_alone) {
  const auto recomputes = [](TorchStage& stage) { stage.recompute = true; };
  const std::vector<Tensor> kept =
      train(GetParam(), ripeline::testing_support::chain(3, true), "F0 F1 B0 B1 ", recomputes);
  EXPECT_THAT(differences(train(GetParam(), offloading_chain(3, "recompute"),
                                "F0 O0 F1 O1 L0 R0 B0 L1 R1 B1 ", recomputes),
                          kept),
              ElementsAre());
  EXPECT_THAT(differences(train(GetParam(), offloading_chain(3, "whole"),
                                "F0 O0 F1 O1 L0 B0 L1 B1 ", recomputes),
                          kept),
              ElementsAre());
}

// Bytes of scalar factors: LibTorch saves a factor as a tensor, but calls no hooks for this tensor.
constexpr std::int64_t kNumbers = 64;

// The test uses LibTorch's own count of its memory.
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
    std::int64_t message = 0;  // bytes of the message that has not left yet
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

// ---- Runs of several ranks ---------------------------------------------------------------------

bool is_proved(const std::string& text) {
  const auto program = spec::compile({"away.ripe", text});
  EXPECT_TRUE(program.ok()) << spec::render({"away.ripe", text}, program.errors());
  return verify::verify(program.value()).outcome == verify::Outcome::proved;
}

class OffloadingProgram : public ::testing::TestWithParam<const char*> {};

TEST_P(OffloadingProgram, trains_bitwise_as_the_unpipelined_model_under_random_timings) {
  const std::string program = offloading_chain(3, GetParam());
  ASSERT_TRUE(is_proved(program)) << program;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Training training{.program = program, .steps = 3};
    training.trainer.before_task = late_at_random(seed);
    if (std::string(GetParam()) == "recompute") {
      training.change_model = [](TorchModel& model) {
        for (auto& [number, stage] : model.stages) stage.recompute = true;
      };
    }
    EXPECT_EQ(train_side_by_side(training), Outcome());
  }
}

TEST_P(OffloadingProgram, goes_with_autocast_and_several_passes) {
  Training training{.program = offloading_chain(2, GetParam()), .steps = 2};
  training.trainer.passes = 2;
  training.change_model = [](TorchModel& model) {
    model.autocast = torch::kBFloat16;
    for (auto& [number, stage] : model.stages) {
      stage.recompute = std::string(GetParam()) == "recompute";
    }
  };
  EXPECT_EQ(train_side_by_side(training), Outcome());
}

INSTANTIATE_TEST_SUITE_P(Ways, OffloadingProgram, ::testing::ValuesIn(kOffloadWays),
                         [](const auto& test) { return std::string(test.param); });

// Each report is at most the resource's capacity times the bytes of one microbatch.
// `leaves_nothing_on_the_device` compares reports with LibTorch's own count.
TEST(OffloadMemory, is_within_what_is_proved_of_each_pool) {
  const Pipeline pipeline(offloading_chain(3, "whole"));
  std::vector<OffloadReport> reports(3);
  const auto statuses = pipeline.run([&](core::Arbiter& arbiter, runtime::Run& run) {
    TorchWork work(ripeline::testing_support::make_mlp(arbiter.facts(), arbiter.rank()));
    TorchTrainer trainer(arbiter, run, work, nullptr);
    for (int step = 0; step < 3; ++step) {
      TrainReport report;
      if (Status s = trainer.step(16, report); !s.ok()) return s;
    }
    reports[static_cast<std::size_t>(arbiter.rank())] = work.offloaded();
    return Status();
  });
  for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status.message();
  for (const OffloadReport& report : reports) {
    EXPECT_GT(report.microbatch, 4 * 16 * 4);
    EXPECT_GE(report.here, report.microbatch);
    EXPECT_LE(report.here, 3 * report.microbatch);
    EXPECT_GE(report.away, report.microbatch);
    EXPECT_LE(report.away, 8 * report.microbatch);
  }
}

// A signal; another thread waits for it, for up to a minute.
class Signal {
 public:
  void give() {
    const std::lock_guard lock(mutex_);
    given_ = true;
    changed_.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 60s, [this] { return given_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool given_ = false;
};

// The first offload and the next forward continue only when both have begun: if they ran one after
// the other, they would time out.
TEST(OffloadTrace, shows_copies_beside_what_is_computed) {
  const Pipeline pipeline(offloading_chain(1, "whole"));
  trace::Record record;
  // Each signal means that its task has begun.
  Signal forward;
  Signal offload;
  const auto statuses = pipeline.run([&](core::Arbiter& arbiter, runtime::Run& run) {
    TorchWork work(ripeline::testing_support::make_mlp(arbiter.facts(), arbiter.rank()));
    TrainerOptions options;
    options.rank.trace = &record;
    options.before_task = [&](const TaskInfo& task) {
      if (task.kind == core::OpKind::forward && task.microbatch == 1) {
        forward.give();
        EXPECT_TRUE(offload.wait());
      }
      if (task.kind == core::OpKind::offload && task.microbatch == 0) {
        offload.give();
        EXPECT_TRUE(forward.wait());
      }
    };
    TorchTrainer trainer(arbiter, run, work, nullptr, options);
    TrainReport report;
    return trainer.step(4, report);
  });
  EXPECT_TRUE(statuses.at(0).ok()) << statuses.at(0).message();
  const core::ProgramFacts& facts = pipeline.facts();
  const auto kind_of = [&](const trace::TaskEvent& event) {
    return facts
        .ops[static_cast<std::size_t>(facts.lanes[static_cast<std::size_t>(event.task.lane)].op)]
        .kind;
  };
  int beside = 0;
  for (const trace::TaskEvent& copy : record.tasks) {
    if (kind_of(copy) != core::OpKind::offload) continue;
    for (const trace::TaskEvent& other : record.tasks) {
      const bool computes = kind_of(other) == core::OpKind::forward;
      beside += computes && other.start < copy.end && copy.start < other.end ? 1 : 0;
    }
  }
  EXPECT_GE(beside, 1);
}

// ---- Values that stay where they are, and programs that are refused --------------------------

TEST(OffloadMemory, that_others_hold_stays_where_it_is) {
  const Tensor mask = torch::ones({4, 6, kWide});
  const Tensor table = torch::randn({100, 4, 6, kWide});  // a data set, of which one batch is used
  OneStage tasks(offloading_chain(3, "whole"),
                 stage_of([&](const Tensor& x) { return x * mask * table[7] * (x.detach() + 1); }));
  ASSERT_TRUE(tasks.run('F', 0, input_of(0)).ok());
  const auto own = 3 * mask.nbytes();  // x * mask, the next product, x + 1; x itself is not needed
  EXPECT_LE(tasks.work().offloaded().microbatch, static_cast<std::int64_t>(own));
  EXPECT_GT(tasks.work().offloaded().microbatch, 0);
}

// A batch is a slice of a data set. The stage both uses it and sends it to the next stage.
TEST(OffloadMemory, a_data_set_stays_also_when_a_slice_of_it_is_given) {
  const Tensor table = torch::randn({100, 4, 6, kWide});
  OneStage tasks(offloading_chain(3, "whole"), stage_of([&](const StageInputs& inputs) {
                   const Tensor batch = table[7];
                   return std::make_tuple(inputs[0].toTensor() * batch, batch);
                 }));
  ASSERT_TRUE(tasks.run('F', 0, input_of(0)).ok());
  EXPECT_EQ(tasks.work().offloaded().microbatch, 0) << "nothing else is saved";
  const IValue gradients = gradients_of(tasks.given(), 0);
  ASSERT_TRUE(tasks.run('O', 0).ok());
  ASSERT_TRUE(tasks.run('L', 0, gradients).ok());
  ASSERT_TRUE(tasks.run('B', 0).ok());
  const Tensor wanted = tensors_of(gradients)[0] * table[7];
  EXPECT_TRUE(tensors_of(tasks.given())[0].equal(wanted));
}

TEST(OffloadMistakes, are_named) {
  const std::string program = offloading_chain(3, "early");
  {
    OneStage tasks(program, stage_of([](const Tensor& x) {
                     const Tensor y = x.sin();
                     const Tensor z = y.exp() * y;
                     const torch::NoGradGuard no_grad;
                     Tensor(y).mul_(2);
                     return z;
                   }));
    ASSERT_TRUE(tasks.run('F', 0, input_of(0)).ok());
    EXPECT_EQ(tasks.run('O', 0).message(),
              "1O0: a tensor was written to in place after the forward had saved it for the "
              "backward");
    EXPECT_THAT(tasks.run('L', 0).message(), HasSubstr("nothing that its forward kept is"));
    EXPECT_EQ(tasks.run('O', 1).message(), "1O1: its forward has not run in this step");
  }
  OneStage tasks(program, stage_of([](const Tensor& x) { return x.sin(); }));
  ASSERT_TRUE(tasks.run('F', 0, input_of(0)).ok());
  ASSERT_TRUE(tasks.run('O', 0).ok());
  EXPECT_EQ(tasks.run('O', 0).message(), "1O0: what its forward kept is offloaded already");
  EXPECT_THAT(tasks.run('B', 0, gradients_of(input_of(0), 0)).message(),
              HasSubstr("1B0: what its forward kept is away: it is offloaded"));
}

TEST(OffloadMistakes, a_tensor_without_a_storage_of_its_own_is_refused) {
  OneStage tasks(offloading_chain(3, "whole"), stage_of([](const Tensor& x) {
                   return torch::sparse_coo_tensor(torch::tensor({{0, 1}, {1, 0}}),
                                                   torch::ones({2}), {2, 4})
                       .mm(x[0].slice(0, 0, 4));
                 }));
  EXPECT_THAT(tasks.run('F', 0, input_of(0)).message(),
              HasSubstr("has no storage of its own and cannot be offloaded"));
}

std::string refusal(const std::string& ops) {
  const Pipeline pipeline(
      "pipeline p { param ranks = 2; microbatches any; stages ranks; place s on s;\n"
      "op F forward { needs F at prev; }\n" +
      ops + " dispatch ready; }");
  TorchWork work(ripeline::testing_support::make_mlp(pipeline.facts(), 0));
  return work.check(pipeline.facts(), 0).message();
}

TEST(OffloadMistakes, in_what_the_program_needs_are_named_before_the_first_task) {
  EXPECT_EQ(refusal("op O offload on copy_out { needs F at here; }\n"
                    "op B backward { needs F at here, B at next; }"),
            "rank 0: 0B needs what is offloaded: its stage must have an op `reload`");
  EXPECT_EQ(refusal("op O offload on copy_out { needs F at here; }\n"
                    "op L reload on copy_in { needs O at here; }\n"
                    "op B backward { needs F at here, B at next; }"),
            "rank 0: 0B needs what is offloaded: it must need 0L, itself or through others");
  EXPECT_EQ(refusal("op O offload on copy_out { needs F at here; }\n"
                    "op L reload on copy_in { needs F at here; }\n"
                    "op B backward { needs L at here, B at next; }"),
            "rank 0: 0L brings back what was offloaded: it must need 0O, itself or through others");
  EXPECT_EQ(refusal("op O offload on copy_out { needs F at here; }\n"
                    "op L reload on copy_in { needs O at here; }\n"
                    "op B backward { needs L at here; }"),
            "rank 0: 0F feeds 1 other stages, and 0B needs the gradients of 0: it must need those "
            "of each that it feeds, and of no other");
  EXPECT_THAT(refusal("op O offload once on copy_out { needs F at here of all; }\n"
                      "op B backward { needs F at here, B at next; }"),
              HasSubstr("0O is `once`: LibTorch stages offload what a microbatch keeps"));
}

// ---- The engine of autograd --------------------------------------------------------------------

// An engine that counts its calls, in the place of Python's.
class OtherEngine final : public torch::autograd::Engine {
 public:
  torch::autograd::variable_list execute(const torch::autograd::edge_list& roots,
                                         const torch::autograd::variable_list& inputs,
                                         bool keep_graph, bool create_graph, bool accumulate_grad,
                                         const torch::autograd::edge_list& outputs) override {
    ++runs;
    return Engine::execute(roots, inputs, keep_graph, create_graph, accumulate_grad, outputs);
  }
  static int runs;
};
int OtherEngine::runs = 0;

torch::autograd::Engine& other_engine() {
  static auto& engine = *new OtherEngine;
  return engine;
}

Tensor gradient_through_hooks(const Tensor& x, std::size_t& saved_tensors) {
  SavingRegion::Saved saved;
  Tensor y;
  {
    const SavingRegion region(saved);
    y = x.sin().exp();
  }
  saved_tensors = saved.size();
  y.sum().backward();
  return x.grad();
}

// A separate process runs this, because an engine can be set in front of another only once.
TEST(AutogradEngineDeathTest, that_was_there_goes_on) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        torch::autograd::set_default_engine_stub(&other_engine);
        const Tensor x = torch::ones({3}, torch::requires_grad());
        std::size_t saved = 0;
        const bool has_gradient = gradient_through_hooks(x, saved).defined();
        std::exit(has_gradient && saved == 2 && OtherEngine::runs == 1 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(AutogradEngine, that_comes_later_is_noticed) {
  static torch::autograd::Engine* before = nullptr;
  const Tensor x = torch::ones({3}, torch::requires_grad());
  std::size_t saved = 0;
  EXPECT_TRUE(gradient_through_hooks(x, saved).defined());
  EXPECT_EQ(saved, 2U);
  before = &torch::autograd::Engine::get_default_engine();
  torch::autograd::set_default_engine_stub(&other_engine);
  SavingRegion::Saved none;
  EXPECT_THROW(SavingRegion{none}, std::runtime_error);
  torch::autograd::set_default_engine_stub([]() -> torch::autograd::Engine& { return *before; });
  EXPECT_TRUE(gradient_through_hooks(x, saved).defined());
}

}  // namespace
}  // namespace ripeline::runtime
