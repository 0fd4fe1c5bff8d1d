// Tests data parallelism: compares the replicas' sums with sums that one process computes for all.
#include <gmock/gmock.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

#include <map>
#include <mutex>
#include <random>
#include <thread>

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

constexpr int kReplicaWidth = 8;
constexpr int kReplicaMicrobatches = 4;

// Two ranks of two stages each, in a V placement, with two reductions per rank.
std::string program(int replicas, bool splits,
                    const std::string& reduction = "needs LAST at here of all;") {
  const std::string last = splits ? "W" : "B";
  std::string reduce = reduction;
  if (const auto at = reduce.find("LAST"); at != std::string::npos) reduce.replace(at, 4, last);
  const std::string backward =
      splits ? "  op I backward input sequential { needs F at here, I at next; }\n"
               "  op W backward weight sequential { needs I at here;  releases activation; }\n"
             : "  op B backward sequential { needs F at here, B at next;  releases activation; }\n";
  return "pipeline dp {\n  param ranks = 2;\n  microbatches any;\n  stages 2 * ranks;\n"
         "  place s on s < ranks ? s : 2 * ranks - 1 - s;\n  data_parallel " +
         std::to_string(replicas) +
         ";\n  op F forward sequential { needs F at prev;  acquires activation leaving chunks - 1 "
         "- "
         "chunk; }\n" +
         backward + "  op G reduce once on comm { " + reduce +
         " }\n  resource activation per rank { capacity 3 * ranks; }\n  hint bf { rounds " +
         (splits ? "I, F;  fill W" : "B, F") + "; }\n  dispatch ready by bf;\n}\n";
}

torch::nn::Linear layer(int stage) {
  torch::manual_seed(40 + stage);
  return torch::nn::Linear(kReplicaWidth, kReplicaWidth);
}
struct TanhLayerImpl : torch::nn::Module {
  explicit TanhLayerImpl(int stage) : linear(register_module("linear", layer(stage))) {}
  Tensor forward(const Tensor& x) { return torch::tanh(linear(x)); }
  torch::nn::Linear linear;
};
TORCH_MODULE(TanhLayer);
Tensor data(std::int64_t step, int microbatch) {
  return torch::arange(3 * kReplicaWidth, torch::kFloat).view({3, kReplicaWidth}).sin() *
         static_cast<double>(1 + microbatch + 100 * step) * 0.01;
}
Tensor loss(const Tensor& y, const Tensor& labels) { return torch::mse_loss(y, labels); }

// The gradients of each stage's parameters; those of each replica are summed separately.
std::map<int, std::vector<Tensor>> reference(int replicas, int passes) {
  std::map<int, std::vector<Tensor>> sums;
  const int of_replica = passes * kReplicaMicrobatches;
  for (int replica = 0; replica < replicas; ++replica) {
    std::vector<torch::nn::Linear> layers;
    for (int stage = 0; stage < 4; ++stage) layers.push_back(layer(stage));
    for (int m = replica * of_replica; m < (replica + 1) * of_replica; ++m) {
      Tensor x = data(0, m);
      for (torch::nn::Linear& one : layers) x = torch::tanh(one(x));
      (loss(x, data(7, m)) / (of_replica * replicas)).backward();
    }
    for (int stage = 0; stage < 4; ++stage) {
      const std::vector<Tensor> parameters = layers[static_cast<std::size_t>(stage)]->parameters();
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (replica == 0) {
          sums[stage].push_back(parameters[i].grad().clone());
        } else {
          sums[stage][i] += parameters[i].grad();
        }
      }
    }
  }
  return sums;
}

struct ReplicaCase {
  int replicas;
  bool splits;
  int passes;
};

class DataParallel : public ::testing::TestWithParam<ReplicaCase> {};

TEST_P(DataParallel, has_the_summed_gradients_of_all_replicas) {
  const auto [replicas, splits, passes] = GetParam();
  const Pipeline pipeline(program(replicas, splits));
  const auto wanted = reference(replicas, passes);
  std::mutex mutex;  // guards LibTorch's generator and expectations
  std::vector<double> losses;
  const auto statuses = pipeline.run(
      [&, size = replicas, of_step = passes](core::Arbiter& arbiter, runtime::Run& run) {
        std::unique_ptr<Groups> groups;
        if (Status s = Groups::connect(run, arbiter.facts(), "", groups); !s.ok()) return s;
        TorchModel model;
        model.replicas = groups->replicas();
        std::unique_lock lock(mutex);
        for (const int stage : {arbiter.rank(), 3 - arbiter.rank()}) {
          model.stages[stage] = make_stage(TanhLayer(stage));
        }
        lock.unlock();
        if (Status s = testing_support::wait_for_all(run); !s.ok()) return s;
        model.inputs[0] = [](std::int64_t step, int m) { return data(step, m); };
        model.labels = [](std::int64_t step, int m) { return data(step + 7, m); };
        model.loss = loss;
        TorchWork work(std::move(model));
        std::mt19937 random(static_cast<std::uint32_t>(run.self()));
        std::mutex of_random;  // guards `random`: reductions run in another thread
        TrainerOptions options;
        options.passes = of_step;
        options.groups = groups.get();
        options.before_task = [&](const TaskInfo&) {
          std::unique_lock guard(of_random);
          const auto pause = std::chrono::microseconds(random() % 2000);
          guard.unlock();
          std::this_thread::sleep_for(pause);
        };
        TorchTrainer trainer(arbiter, run, work, nullptr, options);
        TrainReport report;
        if (Status s = trainer.step(kReplicaMicrobatches, report); !s.ok()) return s;
        lock.lock();
        losses.push_back(report.loss);
        for (const auto& [number, stage] : work.model().stages) {
          for (std::size_t i = 0; i < stage.parameters.size(); ++i) {
            const Tensor& mine = stage.parameters[i].tensor.grad();
            const double difference = (mine - wanted.at(number)[i]).abs().max().item<double>();
            // A sum of two terms does not depend on their order.
            EXPECT_LE(difference, size == 2 ? 0 : 1e-6)
                << run.layout().name(run.self()) << ", stage " << number;
          }
        }
        return Status();
      });
  for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status.message();
  for (const double one : losses) EXPECT_EQ(one, losses.front());
}

INSTANTIATE_TEST_SUITE_P(Of, DataParallel,
                         ::testing::Values(ReplicaCase{1, false, 1}, ReplicaCase{2, false, 1},
                                           ReplicaCase{2, true, 1}, ReplicaCase{2, false, 3},
                                           ReplicaCase{3, true, 1}),
                         [](const auto& test) {
                           return std::to_string(test.param.replicas) + "_replicas_" +
                                  std::to_string(test.param.passes) + "_passes" +
                                  (test.param.splits ? "_in_halves" : "");
                         });

TEST(DataParallelGradients, of_what_one_replica_alone_uses_are_at_all) {
  const Pipeline pipeline(program(2, false));
  std::mutex mutex;
  std::vector<Tensor> used;
  std::vector<bool> unused;
  const auto statuses = pipeline.run([&](core::Arbiter& arbiter, runtime::Run& run) {
    std::unique_ptr<Groups> groups;
    if (Status s = Groups::connect(run, arbiter.facts(), "", groups); !s.ok()) return s;
    const bool is_second = run.layout().at(run.self()).replica == 1;
    TorchModel model;
    model.replicas = groups->replicas();
    for (const int stage : {arbiter.rank(), 3 - arbiter.rank()}) {
      const auto parameter = [] { return torch::full({kReplicaWidth}, 2.0F).requires_grad_(); };
      const Tensor always = parameter();
      const Tensor sometimes = parameter();
      const Tensor never = parameter();
      TorchStage& made = model.stages[stage];
      made.forward = [=](const Tensor& x) {
        return is_second ? x * always + sometimes : x * always;
      };
      made.parameters = {{.name = "always", .tensor = always},
                         {.name = "sometimes", .tensor = sometimes},
                         {.name = "never", .tensor = never}};
    }
    model.inputs[0] = [](std::int64_t step, int m) { return data(step, m); };
    model.labels = [](std::int64_t step, int m) { return data(step + 7, m); };
    model.loss = loss;
    TorchWork work(std::move(model));
    TrainerOptions options;
    options.groups = groups.get();
    TorchTrainer trainer(arbiter, run, work, nullptr, options);
    TrainReport report;
    if (Status s = trainer.step(kReplicaMicrobatches, report); !s.ok()) return s;
    if (arbiter.rank() == 1) return Status();
    const std::scoped_lock lock(mutex);
    used.push_back(work.model().stages.at(0).parameters[1].tensor.grad());
    unused.push_back(!work.model().stages.at(0).parameters[2].tensor.grad().defined());
    return Status();
  });
  for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(used.size(), 2U);
  for (const Tensor& gradient : used) {
    ASSERT_TRUE(gradient.defined());
    EXPECT_TRUE(torch::equal(gradient, used.front()));
    EXPECT_GT(gradient.abs().max().item<double>(), 0);
  }
  EXPECT_THAT(unused, ::testing::Each(true));
}

// The processes' errors for a program whose reductions are not supported, or for a model that has
// no replicas.
std::string refusal(const std::string& text, bool gives_replicas) {
  const Pipeline pipeline(text);
  const auto statuses = pipeline.run([&](core::Arbiter& arbiter, runtime::Run& run) {
    std::unique_ptr<Groups> groups;
    if (Status s = Groups::connect(run, arbiter.facts(), "", groups); !s.ok()) return s;
    TorchModel model;
    if (gives_replicas) model.replicas = groups->replicas();
    for (const int stage : {arbiter.rank(), 3 - arbiter.rank()}) {
      model.stages[stage].forward = [](const Tensor& x) { return x; };
    }
    model.inputs[0] = [](std::int64_t step, int m) { return data(step, m); };
    model.labels = model.inputs[0];
    model.loss = loss;
    TorchWork work(std::move(model));
    return work.check(arbiter.facts(), arbiter.rank());
  });
  return statuses.front().message();
}

TEST(DataParallelModels, say_over_which_group_and_when_they_are_reduced) {
  EXPECT_THAT(refusal(program(2, false), false),
              HasSubstr("the program has 2 replicas, and `replicas` is a group of 1"));
  EXPECT_THAT(refusal(program(2, false, "needs F at here of all;"), true),
              HasSubstr("sums gradients: it must need all tasks that compute them"));
  EXPECT_EQ(refusal(program(2, true), true), "");
}

}  // namespace
}  // namespace ripeline::runtime
