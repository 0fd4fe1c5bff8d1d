// Tests loss scaling: when the scale changes, and that all ranks skip the same steps.
#include "runtime/torch/loss_scale.h"

#include <gmock/gmock.h>
#include <torch/optim/sgd.h>

#include <limits>
#include <vector>

#include "runtime/torch/train.h"
#include "tests/torch/pipeline.h"
#include "tests/torch/side_by_side.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using ripeline::testing_support::chain;
using ripeline::testing_support::kMicrobatches;
using ripeline::testing_support::make_mlp;
using ripeline::testing_support::Outcome;
using ripeline::testing_support::parameters_of;
using ripeline::testing_support::Pipeline;
using ripeline::testing_support::train_side_by_side;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using torch::Tensor;

const Status kBad(StatusCode::failed, "the norm is inf");

TEST(LossScale, doubles_after_good_steps_in_a_row_and_halves_after_a_bad_one) {
  LossScale scale({.first = 8, .grow_after = 3});
  std::vector<double> values;
  std::vector<bool> skips;
  for (const bool is_good : {true, true, false, true, true, true, false, false}) {
    bool skipped = false;
    EXPECT_TRUE(scale.ended(is_good ? Status() : kBad, skipped).ok());
    values.push_back(scale.value());
    skips.push_back(skipped);
  }
  EXPECT_THAT(values, ElementsAre(8, 8, 4, 4, 4, 8, 4, 2));
  EXPECT_THAT(skips, ElementsAre(false, false, true, false, false, false, true, true));
}

TEST(LossScale, fails_where_no_smaller_one_would_help) {
  bool skipped = false;
  LossScale none;
  EXPECT_EQ(none.value(), 1);
  EXPECT_EQ(none.ended(kBad, skipped).message(), "the norm is inf");
  LossScale dynamic({.first = 2, .grow_after = 10});
  EXPECT_TRUE(dynamic.ended(kBad, skipped).ok());
  EXPECT_THAT(dynamic.ended(kBad, skipped).message(), HasSubstr("inf, at a loss scale of 1"));
  EXPECT_FALSE(skipped);
  LossScale odd({.first = 3, .grow_after = 10});
  EXPECT_TRUE(odd.ended(kBad, skipped).ok());
  EXPECT_THAT(odd.ended(kBad, skipped).message(), HasSubstr("inf, at a loss scale of 1.5"));
  LossScale fixed({.first = 0.5, .grow_after = 0});
  EXPECT_TRUE(fixed.ended(kBad, skipped).ok());
  EXPECT_TRUE(skipped);
  EXPECT_EQ(fixed.value(), 0.5);
}

TEST(LossScale, is_a_positive_number) {
  EXPECT_TRUE(LossScale().check().ok());
  EXPECT_TRUE(LossScale(LossScaling()).check().ok());
  for (const double first : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(LossScale({.first = first}).check().ok()) << first;
  }
  EXPECT_FALSE(LossScale({.grow_after = -1}).check().ok());
}

TEST(LossScaling, by_a_power_of_two_changes_no_bit) {
  EXPECT_EQ(
      train_side_by_side({.program = chain(3, true),
                          .trainer = {.clip = 0.05, .loss_scaling = LossScaling{1 << 16, 2}}}),
      Outcome());
}

struct Step {
  bool skipped = false;
  double scale = 0;
  double norm = 0;
  std::vector<Tensor> parameters;
};

// The reports of each rank for three steps, in which stage 1 multiplies a gradient by `by(step)`.
std::vector<std::vector<Step>> train(const TrainerOptions& options,
                                     const std::function<double(int step)>& by) {
  const Pipeline pipeline(chain(3, true));
  std::vector<std::vector<Step>> ranks(3);
  const auto statuses = pipeline.run([&](core::Arbiter& arbiter, Run& run) {
    TorchModel model = make_mlp(arbiter.facts(), arbiter.rank());
    int step = 0;
    const auto hook = [&](const Tensor& gradient) { return gradient * by(step); };
    if (arbiter.rank() == 1) model.stages.at(1).parameters[0].tensor.register_hook(hook);
    TorchWork work(std::move(model));
    torch::optim::SGD optimizer(parameters_of(work.model()), 0.1);
    TorchTrainer trainer(arbiter, run, work, &optimizer, options);
    for (; step < 3; ++step) {
      TrainReport report;
      if (Status s = trainer.step(kMicrobatches, report); !s.ok()) return s;
      Step& seen = ranks[static_cast<std::size_t>(arbiter.rank())].emplace_back();
      seen.skipped = report.skipped;
      seen.scale = report.loss_scale;
      seen.norm = report.gradient_norm;
      for (const Tensor& one : parameters_of(work.model())) {
        seen.parameters.push_back(one.detach().clone());
      }
    }
    return Status();
  });
  for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status.message();
  return ranks;
}

TEST(LossScaling, a_step_that_overflows_on_one_rank_is_skipped_on_all) {
  const double infinite = std::numeric_limits<double>::infinity();
  for (const int grow_after : {0, 2}) {
    const auto ranks =
        train({.clip = 1, .passes = 1, .loss_scaling = LossScaling{1024, grow_after}},
              [&](int step) { return step == 1 ? infinite : 1; });
    for (const std::vector<Step>& steps : ranks) {
      ASSERT_EQ(steps.size(), 3U);
      EXPECT_FALSE(steps[0].skipped);
      EXPECT_TRUE(steps[1].skipped);
      EXPECT_FALSE(steps[2].skipped);
      EXPECT_EQ(steps[1].scale, 1024);
      EXPECT_EQ(steps[2].scale, grow_after == 0 ? 1024 : 512);
      EXPECT_FALSE(std::isfinite(steps[1].norm));
      for (std::size_t i = 0; i < steps[0].parameters.size(); ++i) {
        EXPECT_TRUE(torch::equal(steps[0].parameters[i], steps[1].parameters[i]));
        EXPECT_FALSE(torch::equal(steps[1].parameters[i], steps[2].parameters[i]));
      }
    }
  }
}

// A gradient of 1e-8 is zero in float16, but 1e-8 times the scale is not.
TEST(LossScaling, keeps_gradients_that_float16_would_lose) {
  const auto largest_gradient = [](std::optional<LossScaling> scaling) {
    const Pipeline pipeline(chain(2, true));
    std::vector<double> largest(2);
    const auto statuses = pipeline.run([&](core::Arbiter& arbiter, runtime::Run& run) {
      TorchModel model = make_mlp(arbiter.facts(), arbiter.rank());
      model.autocast = torch::kHalf;
      model.loss = [](const Tensor& output, const Tensor&) { return output.mean() * 1e-7; };
      TorchWork work(std::move(model));
      TorchTrainer trainer(arbiter, run, work, nullptr, {.loss_scaling = scaling});
      TrainReport report;
      const Status status = trainer.step(kMicrobatches, report);
      for (const Tensor& one : parameters_of(work.model())) {
        double& mine = largest[static_cast<std::size_t>(arbiter.rank())];
        mine = std::max(mine, one.grad().abs().max().item<double>());
      }
      return status;
    });
    for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status.message();
    return largest[0];
  };
  EXPECT_EQ(largest_gradient(std::nullopt), 0);
  const double scaled = largest_gradient(LossScaling{});
  EXPECT_GT(scaled, 1e-10);
  EXPECT_LT(scaled, 1e-6);
}

}  // namespace
}  // namespace ripeline::runtime
