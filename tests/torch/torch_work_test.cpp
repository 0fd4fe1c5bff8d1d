// Tests TorchWork and TorchTrainer: training under an arbiter has the results of usual training.
#include "runtime/torch/torch_work.h"

#include <gmock/gmock.h>
#include <torch/types.h>

#include <limits>
#include <stdexcept>
#include <vector>

#include "runtime/torch/train.h"
#include "runtime/torch/value_codec.h"
#include "tests/torch/pipeline.h"
#include "tests/torch/side_by_side.h"

namespace ripeline::runtime {
namespace {

using core::OpKind;
using core::Status;
using ripeline::testing_support::kMicrobatches;
using ripeline::testing_support::make_mlp;
using ripeline::testing_support::Outcome;
using ripeline::testing_support::Pipeline;
using ripeline::testing_support::train_side_by_side;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(TorchTrainer, a_sequential_program_trains_bitwise_as_the_unpipelined_model) {
  EXPECT_EQ(train_side_by_side({.program = ripeline::testing_support::chain(3, true)}), Outcome());
}

// The rate is small, so that each step's gradients are compared, without growing rounding errors.
TEST(TorchTrainer, any_order_trains_as_the_unpipelined_model_but_for_rounding) {
  const Outcome outcome =
      train_side_by_side({.program = ripeline::testing_support::chain(4, false), .rate = 1e-4});
  EXPECT_LT(outcome.gradient, 1e-5);
  EXPECT_LT(outcome.loss, 1e-5);
  EXPECT_LT(outcome.norm, 1e-5);
}

TEST(TorchTrainer, several_stages_per_rank_train_as_the_unpipelined_model) {
  const Outcome outcome =
      train_side_by_side({.program = ripeline::testing_support::v(2), .rate = 1e-4});
  EXPECT_LT(outcome.gradient, 1e-5);
  EXPECT_LT(outcome.loss, 1e-5);
}

std::vector<Status> train_once(const std::string& text,
                               const std::function<void(TorchModel&, int rank)>& change) {
  const Pipeline pipeline(text);
  return pipeline.run([&](core::Arbiter& arbiter, Run& run) {
    TorchModel model = make_mlp(arbiter.facts(), arbiter.rank());
    change(model, arbiter.rank());
    TorchWork work(std::move(model));
    TorchTrainer trainer(arbiter, run, work, nullptr);
    TrainReport report;
    return trainer.step(kMicrobatches, report);
  });
}

TEST(TorchTrainer, an_exception_in_a_stage_names_the_task_and_reaches_every_rank) {
  const auto statuses =
      train_once(ripeline::testing_support::chain(3, true), [](TorchModel& model, int rank) {
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
      train_once(ripeline::testing_support::chain(2, true), [](TorchModel& model, int rank) {
        if (rank == 0)
          model.stages[0].forward = [](const torch::Tensor& x) { return x.slice(1, 0, 3); };
      });
  EXPECT_THAT(statuses[1].message(),
              AllOf(HasSubstr("1F0"), HasSubstr("shapes cannot be multiplied")));
}

TEST(TorchTrainer, a_loss_that_is_not_finite_is_a_failure_on_every_rank) {
  const auto statuses =
      train_once(ripeline::testing_support::chain(2, true), [](TorchModel& model, int) {
        model.loss = [](const torch::Tensor& output, const torch::Tensor&) {
          return output.sum() * std::numeric_limits<double>::infinity();
        };
      });
  for (const Status& status : statuses) {
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("the loss is"), HasSubstr(" in step 0: first at stage 1 on rank 1, "
                                                          "of microbatch 0, where all that came in "
                                                          "was finite")));
  }
}

TEST(TorchTrainer, a_loss_that_is_not_finite_names_the_first_microbatch_and_says_what_came_in) {
  const auto statuses =
      train_once(ripeline::testing_support::chain(2, true), [](TorchModel& model, int rank) {
        if (rank != 0) return;
        model.stages[0].forward = [forward = model.stages[0].forward,
                                   calls = 0](const StageInputs& inputs) mutable {
          const torch::Tensor output = forward(inputs).toTensor();
          const double nan = std::numeric_limits<double>::quiet_NaN();
          return torch::IValue(++calls == 2 ? output * nan : output);
        };
      });
  for (const Status& status : statuses) {
    EXPECT_THAT(status.message(),
                HasSubstr("of microbatch 1, where what came in was not finite already"));
  }
}

TEST(TorchTrainer, what_the_program_needs_and_the_model_lacks_is_named_before_the_first_task) {
  const std::string text = ripeline::testing_support::chain(2, true);
  auto statuses = train_once(text, [](TorchModel& model, int) { model.inputs.clear(); });
  EXPECT_THAT(statuses[0].message(), HasSubstr("0F needs no other stage, so it needs `inputs[0]`"));
  statuses = train_once(text, [](TorchModel& model, int) { model.loss = nullptr; });
  EXPECT_THAT(statuses[1].message(), HasSubstr("needs `labels` and `loss`"));
  statuses = train_once(text, [](TorchModel& model, int rank) {
    if (rank == 1) model.stages.clear();
  });
  EXPECT_THAT(statuses[1].message(), HasSubstr("the model has no stage 1"));
}

// A task of one microbatch; callers add inputs and outputs if the task has any.
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
  const Pipeline pipeline(ripeline::testing_support::chain(2, true));
  TorchWork work(make_mlp(pipeline.facts(), 0));
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
