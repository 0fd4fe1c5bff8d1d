// Tests stages that store only their inputs and recompute their forward: same numbers, less memory.
#include <gmock/gmock.h>
#include <torch/nn/modules/linear.h>

#include <memory>
#include <vector>

#include "runtime/torch/torch_work.h"
#include "runtime/torch/value_codec.h"
#include "tests/torch/pipeline.h"
#include "tests/torch/side_by_side.h"

namespace ripeline::runtime {
namespace {

using core::OpKind;
using core::Status;
using ripeline::testing_support::Outcome;
using ripeline::testing_support::Pipeline;
using ripeline::testing_support::train_side_by_side;
using ripeline::testing_support::Training;
using ::testing::HasSubstr;
using torch::Tensor;

void recompute_all(TorchModel& model) {
  for (auto& [number, stage] : model.stages) stage.recompute = true;
}

class Recompute : public ::testing::TestWithParam<std::pair<const char*, std::string>> {};

TEST_P(Recompute, gives_bitwise_what_a_kept_graph_gives) {
  EXPECT_EQ(train_side_by_side({.program = GetParam().second, .change_model = recompute_all}),
            Outcome());
}

TEST_P(Recompute, runs_under_the_same_autocast) {
  const auto change = [](TorchModel& model) {
    recompute_all(model);
    model.autocast = torch::kBFloat16;
  };
  EXPECT_EQ(train_side_by_side({.program = GetParam().second, .change_model = change}), Outcome());
}

INSTANTIATE_TEST_SUITE_P(
    Programs, Recompute,
    ::testing::Values(std::pair{"whole", ripeline::testing_support::chain(3, true)},
                      std::pair{"split", ripeline::testing_support::split_chain(3)},
                      std::pair{"by_an_op", ripeline::testing_support::recomputing_chain(3)}),
    [](const auto& program) { return program.param.first; });

// Both stages are on one rank, since ranks that are threads have a common generator.
TEST(RecomputeDraws, are_those_of_the_first_time) {
  const auto drop = [](TorchStage& stage) {
    stage.forward = [inner = stage.forward](const Tensor& x) {
      return torch::dropout(inner({x}).toTensor(), 0.5, true);
    };
  };
  Training training{.program = ripeline::testing_support::v(1),
                    .trainer = {.clip = 0.01, .passes = 2}};
  training.change_stage = drop;
  training.change_model = recompute_all;
  EXPECT_EQ(train_side_by_side(training), Outcome());
}

// Runs the tasks of `stage`, which is stage 1 of 3, one after another.
class Tasks {
 public:
  explicit Tasks(TorchStage stage) : work_(model_of(std::move(stage))) {
    EXPECT_TRUE(work_.begin_step(0, 1).ok());
  }
  Status run(const char* op, OpKind kind, const Tensor& input = {}) {
    Call call;
    call.task = {.op = op, .kind = kind, .stage = 1, .stages = 3, .microbatches = 1};
    if (input.defined()) {
      Input& one = call.inputs.emplace_back();
      one.kind = kind;
      one.stage = kind == OpKind::forward ? 0 : 2;
      const torch::IValue value =
          kind == OpKind::forward ? torch::IValue(input) : torch::IValue(std::make_tuple(input));
      EXPECT_TRUE(encode_value(value, one.payload).ok());
    }
    return work_.run(call);
  }

 private:
  static TorchModel model_of(TorchStage stage) {
    TorchModel model;
    model.stages[1] = std::move(stage);
    return model;
  }
  TorchWork work_;
};

// A stage that remembers each tensor between input and output, to check whether it still exists.
struct Deep {
  std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> made;
  torch::nn::Linear first{8, 8};
  torch::nn::Linear second{8, 8};

  Tensor watch(Tensor tensor) {
    made.emplace_back(tensor.storage().getWeakStorageImpl());
    return tensor;
  }
  TorchStage stage() {
    TorchStage result;
    result.forward = [this](const Tensor& x) {
      return watch(second(watch(torch::sin(watch(first(x))))));
    };
    return result;
  }
  [[nodiscard]] int held() const {
    int count = 0;
    for (const auto& one : made) count += one.expired() ? 0 : 1;
    return count;
  }
};

TEST(RecomputeMemory, after_a_forward_is_its_inputs) {
  for (const bool recomputes : {false, true}) {
    Deep deep;
    TorchStage stage = deep.stage();
    stage.recompute = recomputes;
    Tasks tasks(stage);
    const Tensor x = torch::randn({4, 8});
    const auto users = x.storage().use_count();
    ASSERT_TRUE(tasks.run("F", OpKind::forward, x).ok());
    ASSERT_EQ(deep.made.size(), 3U);
    EXPECT_EQ(deep.held(), recomputes ? 0 : 3);
    EXPECT_GT(x.storage().use_count(), users) << "the input is kept";
    ASSERT_TRUE(tasks.run("B", OpKind::backward, torch::ones({4, 8})).ok());
    EXPECT_EQ(deep.made.size(), recomputes ? 6U : 3U);
    EXPECT_EQ(deep.held(), 0);
    EXPECT_EQ(x.storage().use_count(), users);
    EXPECT_TRUE(deep.first->weight.grad().defined());
  }
}

TEST(RecomputeMemory, is_the_graph_from_the_op_on_and_what_is_deferred_after_the_input_half) {
  Deep deep;
  TorchStage stage = deep.stage();
  stage.recompute = true;
  Tasks tasks(stage);
  ASSERT_TRUE(tasks.run("F", OpKind::forward, torch::randn({4, 8})).ok());
  ASSERT_TRUE(tasks.run("R", OpKind::recompute).ok());
  EXPECT_EQ(deep.made.size(), 6U);
  EXPECT_EQ(deep.held(), 3);
  ASSERT_TRUE(tasks.run("I", OpKind::backward_input, torch::ones({4, 8})).ok());
  EXPECT_EQ(deep.made.size(), 6U) << "once is enough";
  EXPECT_EQ(deep.held(), 1) << "the input of the second layer, whose weight's gradient is deferred";
  EXPECT_FALSE(deep.second->weight.grad().defined());
  ASSERT_TRUE(tasks.run("W", OpKind::backward_weight).ok());
  EXPECT_EQ(deep.held(), 0);
  EXPECT_TRUE(deep.second->weight.grad().defined());
}

TEST(RecomputeMistakes, are_named) {
  TorchStage stage;
  stage.recompute = true;
  stage.forward = [](Tensor x) { return torch::relu_(x); };
  Tasks tasks(stage);
  ASSERT_TRUE(tasks.run("F", OpKind::forward, torch::randn({4, 8})).ok());
  EXPECT_EQ(tasks.run("B", OpKind::backward, torch::ones({4, 8})).message(),
            "1B0: the forward has written to its inputs: it cannot be computed again");
  EXPECT_EQ(tasks.run("R", OpKind::recompute).message(),
            "1R0: its forward has not run in this step");

  const Pipeline pipeline(ripeline::testing_support::recomputing_chain(2));
  TorchWork work(ripeline::testing_support::make_mlp(pipeline.facts(), 1));
  EXPECT_EQ(work.check(pipeline.facts(), 1).message(),
            "rank 1: 1R runs a forward again: set `recompute` of stage 1");
}

}  // namespace
}  // namespace ripeline::runtime
