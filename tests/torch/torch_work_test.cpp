// TorchWork and TorchTrainer: training under an arbiter is training.
#include "runtime/torch/torch_work.h"

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <stdexcept>
#include <vector>

#include "runtime/torch/train.h"
#include "runtime/torch/value_codec.h"
#include "tests/torch/pipeline.h"

namespace ripeline::runtime {
namespace {

using core::OpKind;
using core::Status;
using ripeline::testing::Pipeline;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kWidth = 16;
constexpr int kMicrobatches = 7;

torch::Tensor random_tensor(std::int64_t seed, std::vector<std::int64_t> shape) {
  auto generator = at::detail::createCPUGenerator(static_cast<std::uint64_t>(seed));
  return torch::randn(shape, generator);
}

// A stage of the MLP; the same for the same number.
torch::nn::Sequential make_module(int stage) {
  torch::nn::Sequential module(torch::nn::Linear(kWidth, 2 * kWidth), torch::nn::GELU(),
                               torch::nn::Linear(2 * kWidth, kWidth));
  torch::NoGradGuard no_grad;
  std::int64_t seed = 100 * stage;
  for (torch::Tensor& parameter : module->parameters()) {
    parameter.copy_(random_tensor(seed++, parameter.sizes().vec()) * 0.2);
  }
  return module;
}

TorchModel make_model(const core::ProgramFacts& facts, int rank) {
  TorchModel model;
  for (const core::LaneFacts& lane : facts.lanes) {
    if (lane.rank == rank && !model.stages.contains(lane.stage)) {
      model.stages[lane.stage] = make_stage(make_module(lane.stage));
    }
  }
  model.inputs[0] = [](std::int64_t step, int microbatch) {
    return random_tensor(10'000 + 100 * step + microbatch, {4, kWidth});
  };
  model.labels = [](std::int64_t step, int microbatch) {
    return random_tensor(50'000 + 100 * step + microbatch, {4, kWidth});
  };
  model.loss = [](const torch::Tensor& output, const torch::Tensor& labels) {
    return torch::mse_loss(output, labels);
  };
  return model;
}

// The whole model in one process, without a pipeline.
struct Unpipelined {
  explicit Unpipelined(int stages) {
    for (int stage = 0; stage < stages; ++stage) {
      modules.push_back(make_module(stage));
      const auto of_stage = modules.back()->parameters();
      parameters.insert(parameters.end(), of_stage.begin(), of_stage.end());
    }
  }
  double accumulate(const TorchModel& data, std::int64_t step) {
    for (torch::Tensor& parameter : parameters) parameter.mutable_grad().reset();
    double sum = 0;
    for (int microbatch = 0; microbatch < kMicrobatches; ++microbatch) {
      torch::Tensor x = data.inputs.at(0)(step, microbatch).toTensor();
      for (auto& module : modules) x = module->forward(x);
      const torch::Tensor loss =
          data.loss({x, data.labels(step, microbatch)}).toTensor() / kMicrobatches;
      loss.backward();
      sum += loss.item<double>();
    }
    return sum;
  }
  std::vector<torch::nn::Sequential> modules;
  std::vector<torch::Tensor> parameters;
};

std::vector<torch::Tensor> parameters_of(const TorchModel& model) {
  std::vector<torch::Tensor> parameters;
  for (const auto& [number, stage] : model.stages) {
    for (const NamedTensor& parameter : stage.parameters) parameters.push_back(parameter.tensor);
  }
  return parameters;
}

// Trains pipelined and unpipelined side by side on each rank; what differs most, over all ranks
// and steps. Clips so hard that every step is clipped.
struct Outcome {
  double gradient = 0;
  double loss = 0;
  double norm = 0;
  double parameter = 0;
};
Outcome train(const std::string& text, double rate) {
  const Pipeline pipeline(text);
  std::vector<Outcome> outcomes(static_cast<std::size_t>(pipeline.facts().ranks));
  const auto body = [&](core::Arbiter& arbiter, Run& run) {
    Outcome& outcome = outcomes[static_cast<std::size_t>(arbiter.rank())];
    const auto raise = [](double& largest, double value) { largest = std::max(largest, value); };
    TorchWork work(make_model(arbiter.facts(), arbiter.rank()));
    torch::optim::Adam optimizer(parameters_of(work.model()), rate);
    TorchTrainer trainer(arbiter, run, work, &optimizer, {.clip = 0.05});
    Unpipelined whole(arbiter.facts().stages);
    torch::optim::Adam whole_optimizer(whole.parameters, rate);
    for (int step = 0; step < 4; ++step) {
      TrainReport report;
      if (Status status = trainer.accumulate(kMicrobatches, report); !status.ok()) return status;
      EXPECT_EQ(work.live(), 0U);
      const double loss = whole.accumulate(work.model(), step);
      const auto each = [&](const auto& compare) {
        for (const auto& [number, stage] : work.model().stages) {
          const auto theirs = whole.modules[static_cast<std::size_t>(number)]->parameters();
          for (std::size_t i = 0; i < theirs.size(); ++i) {
            compare(stage.parameters[i].tensor, theirs[i]);
          }
        }
      };
      each([&](const torch::Tensor& a, const torch::Tensor& b) {
        raise(outcome.gradient, (a.grad() - b.grad()).abs().max().item<double>());
      });
      if (Status status = trainer.update(report); !status.ok()) return status;
      const double norm = torch::nn::utils::clip_grad_norm_(whole.parameters, 0.05);
      EXPECT_GT(norm, 0.05);
      whole_optimizer.step();
      raise(outcome.loss, std::abs(report.loss - loss));
      raise(outcome.norm, std::abs(report.gradient_norm - norm));
      each([&](const torch::Tensor& a, const torch::Tensor& b) {
        raise(outcome.parameter, (a - b).abs().max().item<double>());
      });
    }
    return Status();
  };
  Outcome worst;
  for (const Status& status : pipeline.run(body)) EXPECT_TRUE(status.ok()) << status.message();
  for (const Outcome& outcome : outcomes) {
    worst.gradient = std::max(worst.gradient, outcome.gradient);
    worst.loss = std::max(worst.loss, outcome.loss);
    worst.norm = std::max(worst.norm, outcome.norm);
    worst.parameter = std::max(worst.parameter, outcome.parameter);
  }
  return worst;
}

TEST(TorchTrainer, a_sequential_program_trains_bitwise_as_the_unpipelined_model) {
  const Outcome outcome = train(ripeline::testing::chain(3, true), 1e-2);
  EXPECT_EQ(outcome.gradient, 0);
  EXPECT_EQ(outcome.loss, 0);
  EXPECT_EQ(outcome.norm, 0);
  EXPECT_EQ(outcome.parameter, 0);
}

// The rate is small: what this compares is each step's gradients, not how rounding grows.
TEST(TorchTrainer, any_order_trains_as_the_unpipelined_model_but_for_rounding) {
  const Outcome outcome = train(ripeline::testing::chain(4, false), 1e-4);
  EXPECT_LT(outcome.gradient, 1e-5);
  EXPECT_LT(outcome.loss, 1e-5);
  EXPECT_LT(outcome.norm, 1e-5);
}

TEST(TorchTrainer, several_stages_per_rank_train_as_the_unpipelined_model) {
  const Outcome outcome = train(ripeline::testing::v(2), 1e-4);
  EXPECT_LT(outcome.gradient, 1e-5);
  EXPECT_LT(outcome.loss, 1e-5);
}

std::vector<Status> train_once(const std::string& text,
                               const std::function<void(TorchModel&, int rank)>& change) {
  const Pipeline pipeline(text);
  return pipeline.run([&](core::Arbiter& arbiter, Run& run) {
    TorchModel model = make_model(arbiter.facts(), arbiter.rank());
    change(model, arbiter.rank());
    TorchWork work(std::move(model));
    TorchTrainer trainer(arbiter, run, work, nullptr);
    TrainReport report;
    return trainer.step(kMicrobatches, report);
  });
}

TEST(TorchTrainer, an_exception_in_a_stage_names_the_task_and_reaches_every_rank) {
  const auto statuses =
      train_once(ripeline::testing::chain(3, true), [](TorchModel& model, int rank) {
        if (rank != 1) return;
        model.stages[1].forward = [calls = 0](const torch::Tensor& x) mutable {
          if (++calls == 3) throw std::runtime_error("the third is cursed");
          return x;
        };
      });
  EXPECT_THAT(statuses[1].message(), AllOf(HasSubstr("1F2"), HasSubstr("the third is cursed")));
  EXPECT_FALSE(statuses[0].ok());
  EXPECT_FALSE(statuses[2].ok());
}

TEST(TorchTrainer, an_error_of_libtorch_names_the_task) {
  const auto statuses =
      train_once(ripeline::testing::chain(2, true), [](TorchModel& model, int rank) {
        if (rank == 0)
          model.stages[0].forward = [](const torch::Tensor& x) { return x.slice(1, 0, 3); };
      });
  EXPECT_THAT(statuses[1].message(),
              AllOf(HasSubstr("1F0"), HasSubstr("shapes cannot be multiplied")));
}

TEST(TorchTrainer, a_loss_that_is_not_finite_is_a_failure_on_every_rank) {
  const auto statuses = train_once(ripeline::testing::chain(2, true), [](TorchModel& model, int) {
    model.loss = [](const torch::Tensor& output, const torch::Tensor&) {
      return output.sum() * std::numeric_limits<double>::infinity();
    };
  });
  for (const Status& status : statuses) EXPECT_THAT(status.message(), HasSubstr("the loss is"));
}

TEST(TorchTrainer, what_the_program_needs_and_the_model_lacks_is_named_before_the_first_task) {
  const std::string text = ripeline::testing::chain(2, true);
  auto statuses = train_once(text, [](TorchModel& model, int) { model.inputs.clear(); });
  EXPECT_THAT(statuses[0].message(), HasSubstr("0F needs no other stage, so it needs `inputs[0]`"));
  statuses = train_once(text, [](TorchModel& model, int) { model.loss = nullptr; });
  EXPECT_THAT(statuses[1].message(), HasSubstr("needs `labels` and `loss`"));
  statuses = train_once(text, [](TorchModel& model, int rank) {
    if (rank == 1) model.stages.clear();
  });
  EXPECT_THAT(statuses[1].message(), HasSubstr("the model has no stage 1"));
}

// A task of one microbatch, with an input and an output if it is to have them.
Call call(const char* op, OpKind kind, int stage, int stages) {
  Call call;
  call.task = {.op = op, .kind = kind, .stage = stage, .stages = stages, .microbatches = 1};
  return call;
}
Call& with_input(Call& call, const torch::Tensor& tensor) {
  call.inputs.resize(1);
  call.inputs[0].stage = call.task.stage + 1;
  call.inputs[0].kind = call.task.kind;
  const torch::IValue value = call.task.kind == OpKind::forward
                                  ? torch::IValue(tensor)
                                  : torch::IValue(std::make_tuple(tensor));
  EXPECT_TRUE(encode_value(value, call.inputs[0].payload).ok());
  return call;
}

TEST(TorchWork, a_gradient_of_another_shape_is_refused) {
  const Pipeline pipeline(ripeline::testing::chain(2, true));
  TorchWork work(make_model(pipeline.facts(), 0));
  ASSERT_TRUE(work.begin_step(0, 1).ok());
  Call forward = call("F", OpKind::forward, 0, 2);
  forward.outputs.resize(1);
  forward.outputs[0].kind = OpKind::forward;
  ASSERT_TRUE(work.run(forward).ok());
  EXPECT_EQ(work.live(), 1U);
  Call backward = call("B", OpKind::backward, 0, 2);
  const Status status = work.run(with_input(backward, torch::ones({3})));
  EXPECT_EQ(status.message(), "0B0: the gradient's shape [3] is not the output's [4, 16]");
}

TEST(TorchWork, a_stage_without_parameters_passes_the_gradient_on) {
  TorchModel model;
  model.stages[1].forward = [](const torch::Tensor& x) { return x; };
  TorchWork work(std::move(model));
  ASSERT_TRUE(work.begin_step(0, 1).ok());
  Call forward = call("F", OpKind::forward, 1, 3);
  ASSERT_TRUE(work.run(with_input(forward, torch::ones({2}))).ok());
  Call backward = call("B", OpKind::backward, 1, 3);
  backward.outputs.resize(2);
  for (Output& output : backward.outputs) output.kind = OpKind::backward;
  ASSERT_TRUE(work.run(with_input(backward, torch::full({2}, 3.0))).ok());
  for (const Output& output : backward.outputs) {
    torch::IValue gradient;
    ASSERT_TRUE(decode_value(output.payload, gradient).ok());
    EXPECT_TRUE(torch::equal(tensors_of(gradient).at(0), torch::full({2}, 3.0)));
  }
}

}  // namespace
}  // namespace ripeline::runtime
