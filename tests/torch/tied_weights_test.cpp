// Tests tied weights, a matrix with which the first stage begins and the last stage ends: compares
// training with one process that has the matrix only once.
#include <gmock/gmock.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/sgd.h>
#include <torch/utils.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/torch/groups.h"
#include "runtime/torch/train.h"
#include "tests/torch/pipeline.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using ::testing::HasSubstr;
using testing_support::Pipeline;
using torch::Tensor;

constexpr int kStages = 4;
constexpr int kTiedWidth = 8;
constexpr int kTiedMicrobatches = 4;
constexpr int kSteps = 3;
constexpr double kRate = 0.5;

const std::string kAdds =
    "op T user \"tied\" once when s == 0 or s == stages - 1 {"
    " needs G at here, G at (stages - 1 - s); }";

// Four stages. In a V placement the first stage and the last are on the same rank.
std::string program(bool is_v, int replicas, const std::string& adds = kAdds) {
  return std::string("pipeline tied { microbatches any; stages 4;\n") +
         (is_v ? "param ranks = 2; place s on s < ranks ? s : 2 * ranks - 1 - s;\n"
               : "param ranks = 4; place s on s;\n") +
         "data_parallel " + std::to_string(replicas) + ";\n" +
         "op F forward sequential { needs F at prev;  acquires activation" +
         (is_v ? " leaving chunks - 1 - chunk" : "") + "; }\n" +
         "op B backward sequential { needs F at here, B at next;  releases activation; }\n"
         "op G reduce once on comm { needs B at here of all; }\n" +
         adds + "\nresource activation per rank { capacity 6; }\n" +
         "hint bf { rounds B, F; } dispatch ready by bf; }\n";
}

// Values between -1/2 and 1/2 of the given shape, determined by `number`.
Tensor values(int number, std::vector<std::int64_t> shape) {
  const Tensor all = torch::arange(kTiedWidth * kTiedWidth, torch::kFloat) * (0.7 + number);
  return (all.sin() / 2).view({kTiedWidth, kTiedWidth}).narrow(0, 0, shape[0]).clone();
}
Tensor data(std::int64_t step, int microbatch) {
  return values(static_cast<int>(1 + microbatch + 100 * step), {3, kTiedWidth});
}
Tensor loss(const Tensor& y, const Tensor& labels) { return torch::mse_loss(y, labels); }

Tensor run_stage(int stage, const Tensor& x, const Tensor& weight) {
  return torch::tanh(torch::matmul(x, stage == kStages - 1 ? weight.t() : weight));
}

Tensor weight_of(int stage) {
  return values(stage == kStages - 1 ? 0 : stage, {kTiedWidth, kTiedWidth}).requires_grad_();
}

TorchStage make_tied_stage(int stage) {
  TorchStage made;
  const Tensor weight = weight_of(stage);
  made.forward = [stage, weight](const Tensor& x) { return run_stage(stage, x, weight); };
  const bool is_tied = stage == 0 || stage == kStages - 1;
  made.parameters = {{.name = "weight", .tensor = weight, .tied = is_tied ? "matrix" : ""}};
  return made;
}

TorchModel make_tied_model(int rank, bool is_v) {
  TorchModel model;
  model.stages[rank] = make_tied_stage(rank);
  if (is_v) model.stages[kStages - 1 - rank] = make_tied_stage(kStages - 1 - rank);
  model.inputs[0] = data;
  model.labels = [](std::int64_t step, int m) { return data(step + 7, m); };
  model.loss = loss;
  return model;
}

struct Trained {
  std::vector<Tensor> weights;  // the weights of the first three stages
  std::vector<double> norms;    // by step
};

// Trains in one process, where the last stage uses the tensor of the first stage.
Trained train_whole(int microbatches) {
  Trained trained;
  for (int stage = 0; stage + 1 < kStages; ++stage) trained.weights.push_back(weight_of(stage));
  torch::optim::SGD optimizer(trained.weights, kRate);
  for (int step = 0; step < kSteps; ++step) {
    optimizer.zero_grad();
    for (int m = 0; m < microbatches; ++m) {
      Tensor x = data(step, m);
      for (int stage = 0; stage < kStages; ++stage) {
        x = run_stage(stage, x, trained.weights[static_cast<std::size_t>(stage % (kStages - 1))]);
      }
      (loss(x, data(step + 7, m)) / microbatches).backward();
    }
    trained.norms.push_back(torch::nn::utils::clip_grad_norm_(trained.weights, 1));
    optimizer.step();
  }
  return trained;
}

struct TiedCase {
  bool is_v;
  int replicas;
  int passes;
};

class TiedWeights : public ::testing::TestWithParam<TiedCase> {};

TEST_P(TiedWeights, stay_alike_and_train_as_one_tensor_does) {
  const auto [is_v, replicas, passes] = GetParam();
  const Pipeline pipeline(program(is_v, replicas));
  const Trained whole = train_whole(kTiedMicrobatches * replicas * passes);
  std::mutex mutex;
  std::vector<Tensor> copies;
  const auto statuses = pipeline.run(
      [&, v = is_v, passes_of_step = passes](core::Arbiter& arbiter, runtime::Run& run) {
        std::unique_ptr<Groups> groups;
        if (Status s = Groups::connect(run, arbiter.facts(), "", groups); !s.ok()) return s;
        TorchModel model = make_tied_model(arbiter.rank(), v);
        model.replicas = groups->replicas();
        TorchWork work(std::move(model));
        std::vector<Tensor> parameters;
        for (const auto& [number, stage] : work.model().stages) {
          parameters.push_back(stage.parameters[0].tensor);
        }
        torch::optim::SGD optimizer(parameters, kRate);
        TrainerOptions options;
        options.clip = 1;
        options.passes = passes_of_step;
        options.groups = groups.get();
        TorchTrainer trainer(arbiter, run, work, &optimizer, options);
        for (const double norm : whole.norms) {
          TrainReport report;
          if (Status s = trainer.step(kTiedMicrobatches, report); !s.ok()) return s;
          const std::scoped_lock lock(mutex);
          EXPECT_NEAR(report.gradient_norm, norm, 1e-5);
        }
        const std::scoped_lock lock(mutex);
        for (const auto& [number, stage] : work.model().stages) {
          const Tensor& mine = stage.parameters[0].tensor;
          const Tensor& wanted = whole.weights[static_cast<std::size_t>(number % (kStages - 1))];
          EXPECT_LE((mine - wanted).abs().max().item<double>(), 1e-5)
              << run.layout().name(run.self()) << ", stage " << number;
          if (!stage.parameters[0].tied.empty()) copies.push_back(mine.detach());
        }
        return Status();
      });
  for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(copies.size(), static_cast<std::size_t>(2 * replicas));
  for (const Tensor& copy : copies) EXPECT_TRUE(torch::equal(copy, copies.front()));
}

INSTANTIATE_TEST_SUITE_P(Of, TiedWeights,
                         ::testing::Values(TiedCase{false, 1, 1}, TiedCase{true, 1, 1},
                                           TiedCase{false, 1, 2}, TiedCase{true, 2, 1},
                                           TiedCase{false, 3, 1}),
                         [](const auto& test) {
                           return std::string(test.param.is_v ? "a_v_" : "a_chain_") +
                                  std::to_string(test.param.replicas) + "_replicas_" +
                                  std::to_string(test.param.passes) + "_passes";
                         });

// The error that a V's first rank reports for a program and a valid model changed by `change`.
std::string first_words(
    const std::string& text, const std::function<void(TorchModel&)>& change = [](TorchModel&) {}) {
  const Pipeline pipeline(text);
  const auto statuses = pipeline.run([&](core::Arbiter& arbiter, runtime::Run& run) {
    TorchModel model = make_tied_model(arbiter.rank(), true);
    if (arbiter.rank() == 0) change(model);
    TorchWork work(std::move(model));
    TorchTrainer trainer(arbiter, run, work, nullptr);
    TrainReport report;
    return trainer.step(kTiedMicrobatches, report);
  });
  return statuses.front().message();
}

TEST(TiedWeightsThatDoNotFit, are_refused_before_the_first_task) {
  EXPECT_THAT(first_words(program(true, 1, "")),
              HasSubstr("stage 0 has tied weights, and no op `user` that adds up their gradients"));
  EXPECT_THAT(first_words(program(true, 1),
                          [](TorchModel& model) {
                            for (auto& [number, stage] : model.stages) {
                              stage.parameters[0].tied.clear();
                            }
                          }),
              HasSubstr("0T adds up the gradients of tied weights, and no parameter of stage 0 "
                        "says that it is one"));
  EXPECT_THAT(first_words(program(true, 1),
                          [](TorchModel& model) {
                            model.stages[3].parameters = model.stages[0].parameters;
                          }),
              HasSubstr("stages 0 and 3 have one tensor, 'weight': give each a copy"));
  EXPECT_THAT(
      first_words(program(true, 1, "op T user \"tied\" once when s == 0 { needs G at (3); }")),
      HasSubstr("it must need its own stage's `reduce`, too"));
  EXPECT_THAT(
      first_words(program(true, 1,
                          "op T user \"tied\" once when s == 0 or s == 3 { needs G at here, "
                          "G at (s == 0 ? 3 : 2); }")),
      HasSubstr("copies would differ"));
  EXPECT_THAT(first_words(program(true, 1, "op T user \"norm\" once { needs G at here; }")),
              HasSubstr("0T: LibTorch stages run ops of the kinds"));
}

TEST(TiedWeightsThatDoNotFit, are_found_when_their_first_gradients_come) {
  EXPECT_THAT(first_words(program(true, 1),
                          [](TorchModel& model) {
                            const torch::NoGradGuard no_grad;
                            model.stages[3].parameters[0].tensor[0][0] += 1;
                          }),
              HasSubstr("its parameter 'weight', tied as 'matrix', does not start with the "
                        "values of that of stage"));
  EXPECT_THAT(first_words(program(true, 1),
                          [](TorchModel& model) { model.stages[3].parameters[0].tied = "head"; }),
              HasSubstr("is at no stage whose `reduce` it needs"));
}

}  // namespace
}  // namespace ripeline::runtime
