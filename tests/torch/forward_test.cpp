// Tests forwards under autocast, and the loss that follows them.
#include "runtime/torch/forward.h"

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

#include <stdexcept>

namespace ripeline::runtime {
namespace {

using torch::Tensor;

Tensor forward(const TorchModel& model, TorchStage& stage, const Tensor& x) {
  return run_forward(model, stage, {x}, {.step = 0, .microbatch = 0, .stage = 0}).toTensor();
}

TEST(Autocast, a_stage_gives_the_narrow_type_and_its_parameters_keep_theirs) {
  TorchModel model;
  model.autocast = torch::kBFloat16;
  torch::nn::Linear linear(8, 8);
  TorchStage stage = make_stage(linear);
  const Tensor y = forward(model, stage, torch::randn({2, 8}));
  EXPECT_EQ(y.scalar_type(), torch::kBFloat16);
  y.sum().backward();
  EXPECT_EQ(linear->weight.scalar_type(), torch::kFloat);
  EXPECT_EQ(linear->weight.grad().scalar_type(), torch::kFloat);
}

// One weight is changed between two forwards, as by an optimizer, and one weight is used twice.
TEST(Autocast, no_cast_weight_outlives_its_use) {
  TorchModel model;
  model.autocast = torch::kBFloat16;
  torch::nn::Linear linear(8, 8);
  TorchStage stage = make_stage(linear);
  const Tensor x = torch::randn({2, 8});
  const Tensor before = forward(model, stage, x);
  {
    const torch::NoGradGuard no_grad;
    linear->weight.mul_(2);
    linear->bias.mul_(2);
  }
  EXPECT_TRUE(torch::equal(forward(model, stage, x), before * 2));
  {
    const torch::NoGradGuard no_grad;  // a cast made under this guard has no graph
    (void)forward(model, stage, x);
  }
  forward(model, stage, x).sum().backward();
  EXPECT_TRUE(linear->weight.grad().defined());

  TorchStage asks;
  asks.forward = [](const Tensor& input) {
    EXPECT_TRUE(at::autocast::is_autocast_enabled(at::kCPU));
    EXPECT_FALSE(at::autocast::is_autocast_cache_enabled()) << "all threads share it";
    return input;
  };
  (void)forward(model, asks, x);
}

TEST(Autocast, ends_with_the_forward_whatever_it_does) {
  TorchModel model;
  model.autocast = torch::kHalf;
  TorchStage stage;
  stage.forward = [](const Tensor& x) -> Tensor {
    if (x.numel() > 0) throw std::runtime_error("no");
    return x;
  };
  const auto type = at::autocast::get_autocast_dtype(at::kCPU);
  EXPECT_THROW((void)forward(model, stage, torch::ones({1})), std::runtime_error);
  EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  EXPECT_TRUE(at::autocast::is_autocast_cache_enabled());
  EXPECT_EQ(at::autocast::get_autocast_dtype(at::kCPU), type);
}

TEST(Autocast, the_loss_gets_float32_of_any_output) {
  TorchModel model;
  model.autocast = torch::kBFloat16;
  model.labels = [](std::int64_t, int) { return torch::zeros({4}); };
  model.loss = [](const StageInputs& of) {
    const auto elements = of[0].toTupleRef().elements();
    EXPECT_EQ(elements[0].toTensor().scalar_type(), torch::kFloat);
    EXPECT_EQ(elements[1].toTensor().scalar_type(), torch::kLong);
    EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
    return torch::mse_loss(elements[0].toTensor(), of[1].toTensor());
  };
  const Tensor output = torch::full({4}, 0.1, torch::kBFloat16);
  const Tensor loss = run_loss(model, std::make_tuple(output, torch::ones({1}, torch::kLong)), {});
  EXPECT_EQ(loss.scalar_type(), torch::kFloat);
  EXPECT_TRUE(torch::equal(loss, output.to(torch::kFloat).pow(2).mean()));
}

}  // namespace
}  // namespace ripeline::runtime
