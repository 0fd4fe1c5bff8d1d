// Tests that training in mixed precision, and training with several passes per step, give the same
// numbers as one process. Also tests what the trace records of deferred gradients.
#include <gmock/gmock.h>
#include <torch/nn/modules/normalization.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/torch/train.h"
#include "runtime/torch/value_codec.h"
#include "tests/torch/pipeline.h"
#include "tests/torch/side_by_side.h"
#include "trace/record.h"

namespace ripeline::runtime {
namespace {

using core::OpKind;
using core::Status;
using ripeline::testing_support::chain;
using ripeline::testing_support::kMicrobatches;
using ripeline::testing_support::kWidth;
using ripeline::testing_support::make_mlp;
using ripeline::testing_support::Outcome;
using ripeline::testing_support::Pipeline;
using ripeline::testing_support::split_chain;
using ripeline::testing_support::train_side_by_side;
using ::testing::HasSubstr;

void narrow(TorchModel& model) { model.autocast = torch::kBFloat16; }

TEST(MixedPrecision, trains_bitwise_as_the_unpipelined_model_under_autocast) {
  for (const std::string& program : {chain(3, true), split_chain(3)}) {
    EXPECT_EQ(train_side_by_side({.program = program, .change_model = narrow}), Outcome());
  }
}

// In float32, sums of gradients in another order are rounded differently.
TEST(MixedPrecision, in_any_order_is_exact_but_for_float32s_rounding) {
  const Outcome outcome =
      train_side_by_side({.program = chain(4, false), .rate = 1e-4, .change_model = narrow});
  EXPECT_LT(outcome.gradient, 1e-5);
  EXPECT_LT(outcome.loss, 1e-3) << "parameters differ by rounding, and that by narrow rounding";
}

TEST(MixedPrecision, autocast_is_to_a_narrow_type) {
  const Pipeline pipeline(chain(1, true));
  TorchModel model = make_mlp(pipeline.facts(), 0);
  model.autocast = torch::kDouble;
  EXPECT_THAT(TorchWork(model).check(pipeline.facts(), 0).message(),
              HasSubstr("`autocast` is to torch::kBFloat16 or torch::kHalf"));
}

std::size_t bytes_of(const Payload& payload) {
  std::size_t bytes = 0;
  for (const Bytes& part : payload.parts) bytes += part.size;
  return bytes;
}

// The bytes that stage 1 of 3 sends if its activation and its gradient have the given type.
struct Sent {
  std::size_t activation = 0;
  std::size_t gradient = 0;
};
Sent sent(std::optional<torch::ScalarType> autocast, torch::ScalarType type) {
  TorchModel model;
  model.autocast = autocast;
  model.stages[1] = ripeline::testing_support::make_mlp_stage(1);
  TorchWork work(std::move(model));
  EXPECT_TRUE(work.begin_step(0, 1).ok());
  const torch::Tensor given = torch::ones({4, kWidth}, type);
  const auto run = [&](OpKind kind, int from, const torch::IValue& value) {
    Call call;
    call.task = {.op = "T", .kind = kind, .stage = 1, .stages = 3, .microbatches = 1};
    call.inputs.resize(1);
    call.inputs[0].kind = kind;
    call.inputs[0].stage = from;
    EXPECT_TRUE(encode_value(value, call.inputs[0].payload).ok());
    call.outputs.resize(1);
    call.outputs[0].kind = kind;
    call.outputs[0].stage = 2 - from;
    const Status status = work.run(call);
    EXPECT_TRUE(status.ok()) << status.message();
    return bytes_of(call.outputs[0].payload);
  };
  Sent sent;
  sent.activation = run(OpKind::forward, 0, given);
  sent.gradient = run(OpKind::backward, 2, std::make_tuple(given));
  return sent;
}

TEST(MixedPrecision, halves_the_messages_of_stages_that_give_the_narrow_type) {
  const Sent wide = sent(std::nullopt, torch::kFloat);
  EXPECT_EQ(wide.activation, 4U * kWidth * sizeof(float));
  EXPECT_EQ(wide.gradient, wide.activation);
  const Sent half = sent(torch::kBFloat16, torch::kBFloat16);
  EXPECT_EQ(half.activation, wide.activation / 2);
  EXPECT_EQ(half.gradient, wide.gradient / 2);
}

TEST(Passes, of_a_step_are_as_many_microbatches_of_one_process) {
  for (const std::string& program : {chain(3, true), split_chain(3)}) {
    EXPECT_EQ(train_side_by_side({.program = program, .trainer = {.clip = 0.05, .passes = 3}}),
              Outcome());
  }
}

TEST(Passes, see_each_microbatch_once_and_are_steps_of_the_program) {
  const Pipeline pipeline(chain(1, true));
  std::multiset<std::pair<std::int64_t, int>> asked;
  trace::Record record;
  const auto statuses = pipeline.run([&](core::Arbiter& arbiter, runtime::Run& run) {
    TorchModel model = make_mlp(arbiter.facts(), 0);
    model.inputs[0] = [&, data = model.inputs[0]](std::int64_t step, int microbatch) {
      asked.insert({step, microbatch});
      return data(step, microbatch);
    };
    TorchWork work(std::move(model));
    TrainerOptions options{.passes = 3};
    options.rank.trace = &record;
    TorchTrainer trainer(arbiter, run, work, nullptr, options);
    TrainReport report;
    for (int step = 0; step < 2; ++step) {
      if (Status s = trainer.step(2, report); !s.ok()) return s;
      EXPECT_EQ(report.tasks.tasks, 3 * 2 * 2);
      EXPECT_GT(report.tasks.busy.count(), 0);
    }
    return Status();
  });
  EXPECT_TRUE(statuses[0].ok()) << statuses[0].message();
  std::multiset<std::pair<std::int64_t, int>> wanted;
  for (std::int64_t step = 0; step < 2; ++step) {
    for (int microbatch = 0; microbatch < 6; ++microbatch) wanted.insert({step, microbatch});
  }
  EXPECT_EQ(asked, wanted);
  EXPECT_EQ(record.tasks.back().step, 5);
}

TEST(Passes, are_at_least_one) {
  const Pipeline pipeline(chain(1, true));
  const auto statuses = pipeline.run([](core::Arbiter& arbiter, runtime::Run& run) {
    TorchWork work(make_mlp(arbiter.facts(), 0));
    TorchTrainer trainer(arbiter, run, work, nullptr, {.passes = 0});
    TrainReport report;
    return trainer.step(2, report);
  });
  EXPECT_THAT(statuses[0].message(), HasSubstr("a step has at least 1 pass, not 0"));
}

// All four parameters of an MLP stage are deferred; those of a layer norm are computed at once.
TEST(Trace, has_what_each_input_half_deferred) {
  const Pipeline pipeline(split_chain(2));
  std::vector<trace::Record> records(2);
  const auto statuses = pipeline.run([&](core::Arbiter& arbiter, runtime::Run& run) {
    const int rank = arbiter.rank();
    TorchModel model = make_mlp(arbiter.facts(), rank);
    if (rank == 1) {
      torch::nn::LayerNorm norm(torch::nn::LayerNormOptions({kWidth}));
      TorchStage& stage = model.stages[1];
      stage.forward = [inner = stage.forward, norm](const torch::Tensor& x) mutable {
        return inner({norm(x)});
      };
      stage.parameters.push_back({"norm.weight", norm->weight});
      stage.parameters.push_back({"norm.bias", norm->bias});
    }
    TorchWork work(std::move(model));
    TrainerOptions options{.passes = 2};
    options.rank.trace = &records[static_cast<std::size_t>(rank)];
    TorchTrainer trainer(arbiter, run, work, nullptr, options);
    TrainReport report;
    return trainer.step(kMicrobatches, report);
  });
  for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status.message();
  for (int rank = 0; rank < 2; ++rank) {
    int halves = 0;
    for (const trace::TaskEvent& e : records[static_cast<std::size_t>(rank)].tasks) {
      const auto op = static_cast<std::size_t>(
          pipeline.facts().lanes[static_cast<std::size_t>(e.task.lane)].op);
      if (pipeline.facts().ops[op].kind != OpKind::backward_input) {
        EXPECT_EQ(e.deferral, trace::Deferral());
        continue;
      }
      ++halves;
      EXPECT_EQ(e.deferral.parameters, rank == 0 ? 4 : 6);
      EXPECT_EQ(e.deferral.deferred, 4);
      EXPECT_GT(e.deferral.bytes, 0);
    }
    EXPECT_EQ(halves, 2 * kMicrobatches);
  }
}

}  // namespace
}  // namespace ripeline::runtime
