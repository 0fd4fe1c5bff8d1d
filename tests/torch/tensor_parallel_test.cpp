// Tests tensor parallelism: compares layers with undivided layers, and groups with one process.
#include "runtime/torch/tensor_parallel.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/optim/adamw.h>
#include <torch/utils.h>

#include <random>
#include <thread>

#include "runtime/torch/forward.h"
#include "runtime/torch/groups.h"
#include "runtime/torch/train.h"
#include "tests/torch/pipeline.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using testing_support::Pipeline;
using torch::Tensor;

constexpr double kTolerance = 1e-5;

// The layers of a small language model: all of them in one process, or a member's share of them.
struct MemberModelImpl : torch::nn::Module {
  explicit MemberModelImpl(const Group& group, std::uint64_t seed = 1) {
    torch::manual_seed(seed);
    const torch::nn::Embedding table(12, 16);
    const torch::nn::Linear attention_in(16, 48);
    const torch::nn::Linear attention_out(16, 16);
    const torch::nn::Linear wide(16, 32);
    const torch::nn::Linear narrow(torch::nn::LinearOptions(32, 16).bias(false));
    const torch::nn::Linear logits(16, 12);
    embedding = register_module("embedding", VocabularyParallelEmbedding(table, group));
    norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({16})));
    attention = register_module("attention",
                                ParallelAttention(attention_in, attention_out, 4, true, group));
    in = register_module("in", ColumnParallelLinear(wide, group));
    out = register_module("out", RowParallelLinear(narrow, group));
    head = register_module("head", ColumnParallelLinear(logits, group));
  }
  Tensor forward(const Tensor& ids) { return second(first(ids)); }
  Tensor first(const Tensor& ids) {
    const Tensor x = embedding(ids);
    return x + attention(norm(x));
  }
  Tensor second(const Tensor& x) { return head(x + out(torch::gelu(in(x)))); }

  VocabularyParallelEmbedding embedding{nullptr};
  torch::nn::LayerNorm norm{nullptr};
  ParallelAttention attention{nullptr};
  ColumnParallelLinear in{nullptr};
  RowParallelLinear out{nullptr};
  ColumnParallelLinear head{nullptr};
};
TORCH_MODULE(MemberModel);

// One half of the model's layers.
struct HalfImpl : torch::nn::Module {
  HalfImpl(const Group& group, int half_of) : half(half_of), all(MemberModel(group)) {
    const auto add = [this](const char* name, const std::shared_ptr<torch::nn::Module>& module) {
      register_module(name, module);
    };
    if (half == 0) {
      add("embedding", all->embedding.ptr());
      add("norm", all->norm.ptr());
      add("attention", all->attention.ptr());
    } else {
      add("in", all->in.ptr());
      add("out", all->out.ptr());
      add("head", all->head.ptr());
    }
  }
  Tensor forward(const Tensor& x) { return half == 0 ? all->first(x) : all->second(x); }
  int half;
  MemberModel all;
};
TORCH_MODULE(Half);

Tensor ids_of(std::int64_t step, int microbatch) {
  return (torch::arange(10, torch::kLong).view({2, 5}) * (3 + step) + microbatch) % 12;
}
Tensor labels_of(std::int64_t step, int microbatch) {
  return (ids_of(step, microbatch) * 5 + 1) % 12;
}

ValueFunction loss_over(const Group& group) {
  return [group](const Tensor& logits, const Tensor& labels) {
    return vocabulary_parallel_cross_entropy(logits.flatten(0, 1), labels.flatten(), group);
  };
}

// Two ranks of `members` members each, which choose among chunks of one stage each.
std::string program(int members, const std::string& agree, bool splits = false) {
  const std::string backward =
      splits ? "  op I backward input sequential { needs F at here, I at next;  collectives 2; }\n"
               "  op W backward weight sequential { needs I at here;  releases activation; }\n"
             : "  op B backward sequential { needs F at here, B at next;  releases activation;  "
               "collectives 2; }\n";
  return "pipeline tp {\n  param ranks = 2;\n  microbatches any;\n  stages ranks;\n"
         "  place s on s;\n  tensor_parallel " +
         std::to_string(members) + " { agree by " + agree +
         "; }\n  op F forward { needs F at prev;  acquires activation;  collectives 2; }\n" +
         backward +
         "  resource activation per stage { capacity 2 * (ranks - s); }\n  hint bf { rounds " +
         (splits ? "I, F;  fill W" : "B, F") + "; }\n  dispatch ready by bf;\n}\n";
}

// The complete model in one process.
struct Reference {
  explicit Reference(std::int64_t step, int microbatches) : first(Group(), 0), second(Group(), 1) {
    for (int m = 0; m < microbatches; ++m) {
      const Tensor y = second(first(ids_of(step, m)));
      const Tensor part = loss_over({})({y, labels_of(step, m)}).toTensor() / microbatches;
      part.backward();
      loss += part.item<double>();
    }
  }
  Half first, second;
  double loss = 0;
};

void expect_gradients(const TorchStage& mine, const TorchStage& whole, const std::string& who) {
  ASSERT_EQ(mine.parameters.size(), whole.parameters.size());
  for (std::size_t i = 0; i < whole.parameters.size(); ++i) {
    const NamedTensor& of = mine.parameters[i];
    const Tensor wanted = of.share.part_of(whole.parameters[i].tensor.grad());
    ASSERT_TRUE(of.tensor.grad().defined()) << who << ", " << of.name;
    EXPECT_LE((of.tensor.grad() - wanted).abs().max().item<double>(), kTolerance)
        << who << ", " << of.name;
  }
}

struct MemberCase {
  int members;
  const char* agree;
  bool splits;
};

class TensorParallel : public ::testing::TestWithParam<MemberCase> {};

TEST_P(TensorParallel, has_the_gradients_of_one_process) {
  constexpr int kCount = 5;
  const auto [members, agree, splits] = GetParam();
  const Pipeline pipeline(program(members, agree, splits));
  const Reference reference(0, kCount);
  const TorchStage wholes[] = {make_stage(reference.first), make_stage(reference.second)};
  std::mutex mutex;  // guards the generator and expectations
  const auto statuses =
      pipeline.run([&, size = members](core::Arbiter& arbiter, runtime::Run& run) {
        std::unique_ptr<Groups> groups;
        if (Status s = Groups::connect(run, arbiter.facts(), "", groups); !s.ok()) return s;
        EXPECT_EQ(groups->members().size(), size);
        TorchModel model;
        {
          const std::lock_guard lock(mutex);  // guards the generator
          model.stages[arbiter.rank()] = make_stage(Half(groups->members(), arbiter.rank()));
        }
        if (Status s = testing_support::wait_for_all(run); !s.ok()) return s;
        model.inputs[0] = [](std::int64_t step, int m) { return ids_of(step, m); };
        model.labels = [](std::int64_t step, int m) { return labels_of(step, m); };
        model.loss = loss_over(groups->members());
        TorchWork work(std::move(model));
        std::mt19937 random(static_cast<std::uint32_t>(run.self()));
        TrainerOptions options;
        options.groups = groups.get();
        options.before_task = [&random](const TaskInfo&) {
          std::this_thread::sleep_for(std::chrono::microseconds(random() % 1500));
        };
        TorchTrainer trainer(arbiter, run, work, nullptr, options);
        TrainReport report;
        if (Status s = trainer.accumulate(kCount, report); !s.ok()) return s;
        const std::lock_guard lock(mutex);
        const std::string who = run.layout().name(run.self());
        expect_gradients(work.model().stages.at(arbiter.rank()),
                         wholes[static_cast<std::size_t>(arbiter.rank())], who);
        return Status();
      });
  for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status.message();
}

INSTANTIATE_TEST_SUITE_P(
    Of, TensorParallel,
    ::testing::Values(MemberCase{1, "intersection", false}, MemberCase{2, "intersection", false},
                      MemberCase{2, "intersection", true}, MemberCase{2, "leader", false},
                      MemberCase{2, "vote", true}, MemberCase{4, "intersection", false}),
    [](const auto& test) {
      return std::to_string(test.param.members) + "_by_" + test.param.agree +
             (test.param.splits ? "_in_halves" : "");
    });

TEST(TensorParallelTraining, has_the_loss_and_the_norm_of_one_process_and_keeps_members_alike) {
  constexpr int kCount = 4;
  const Pipeline pipeline(program(2, "intersection"));
  const Reference reference(0, kCount);
  std::vector<Tensor> gradients;
  for (const Half& half : {reference.first, reference.second}) {
    for (const Tensor& parameter : half->parameters()) gradients.push_back(parameter.grad());
  }
  double norm = 0;
  for (const Tensor& gradient : gradients) norm += gradient.square().sum().item<double>();
  norm = std::sqrt(norm);
  std::vector<Tensor> norm_weights(2);  // per member of rank 0, after the last step
  std::mutex mutex;
  const auto statuses = pipeline.run([&](core::Arbiter& arbiter, runtime::Run& run) {
    std::unique_ptr<Groups> groups;
    if (Status s = Groups::connect(run, arbiter.facts(), "", groups); !s.ok()) return s;
    TorchModel model;
    std::unique_lock lock(mutex);
    const Half half(groups->members(), arbiter.rank());
    lock.unlock();
    if (Status s = testing_support::wait_for_all(run); !s.ok()) return s;
    model.stages[arbiter.rank()] = make_stage(half);
    model.inputs[0] = [](std::int64_t, int m) { return ids_of(0, m); };
    model.labels = [](std::int64_t, int m) { return labels_of(0, m); };
    model.loss = loss_over(groups->members());
    torch::optim::AdamW optimizer(half->parameters(), 0.01);
    TorchWork work(std::move(model));
    TorchTrainer trainer(arbiter, run, work, &optimizer, {.clip = 0.5, .groups = groups.get()});
    double last = INFINITY;
    for (int step = 0; step < 6; ++step) {
      TrainReport report;
      if (Status s = trainer.step(kCount, report); !s.ok()) return s;
      lock.lock();
      if (step == 0) {
        EXPECT_NEAR(report.loss, reference.loss, kTolerance);
        EXPECT_NEAR(report.gradient_norm, norm, kTolerance * norm);
      }
      EXPECT_LT(report.loss, last) << "step " << step;
      last = report.loss;
      lock.unlock();
    }
    const core::Coordinates self = run.layout().at(run.self());
    if (self.rank == 0) {
      lock.lock();
      norm_weights[static_cast<std::size_t>(self.member)] = half->all->norm->weight.clone();
      lock.unlock();
    }
    return Status();
  });
  for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(torch::equal(norm_weights[0], norm_weights[1])) << "what all have stays the same";
}

TEST(TensorParallelTraining, names_the_member_that_failed_and_waits_for_no_collective) {
  const Pipeline pipeline(program(2, "intersection"));
  const auto statuses = pipeline.run([&](core::Arbiter& arbiter, runtime::Run& run) {
    std::unique_ptr<Groups> groups;
    if (Status s = Groups::connect(run, arbiter.facts(), "", groups); !s.ok()) return s;
    const Group group = groups->members();
    TorchModel model;
    TorchStage& stage = model.stages[arbiter.rank()];
    stage.forward = [group, self = run.self()](const Tensor& x) {
      if (self == 3) throw std::runtime_error("its disk is full");
      return sum_over_group(x.to(torch::kFloat) * 1.0, group);
    };
    model.inputs[0] = [](std::int64_t step, int m) { return ids_of(step, m); };
    model.labels = model.inputs[0];
    model.loss = [](const Tensor& y, const Tensor&) { return y.sum(); };
    TorchWork work(std::move(model));
    TorchTrainer trainer(arbiter, run, work, nullptr, {.groups = groups.get()});
    TrainReport report;
    return trainer.accumulate(2, report);
  });
  for (const Status& status : statuses) {
    EXPECT_EQ(status.code(), StatusCode::failed);
    EXPECT_TRUE(status.message().starts_with("process 3 (rank 1, member 1) failed: 1F0 failed"))
        << status.message();
    EXPECT_NE(status.message().find("its disk is full"), std::string::npos) << status.message();
  }
}

TEST(GroupsThatDoNotConnect, name_who_failed_meanwhile_and_do_not_wait_for_it) {
  const Pipeline pipeline(program(2, "intersection"));
  const auto begin = std::chrono::steady_clock::now();
  const auto statuses = pipeline.run([&](core::Arbiter& arbiter, runtime::Run& run) {
    std::unique_ptr<Groups> groups;
    if (run.self() != 3) return Groups::connect(run, arbiter.facts(), "", groups);
    std::vector<Blob> all;
    if (Status s = run.gather("the store of the groups", {}, all); !s.ok()) return s;
    return run.fail({StatusCode::failed, "its disk is full"});
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, GroupOptions().connect_limit / 2);
  for (const Status& status : statuses) {
    EXPECT_TRUE(
        status.message().starts_with("process 3 (rank 1, member 1) failed: its disk is full"))
        << status.message();
  }
}

TEST(TensorParallelTraining, gives_what_the_whole_layer_does_the_same_type_under_autocast) {
  const Pipeline pipeline(program(2, "intersection"));
  std::mutex mutex;  // guards the generator
  const auto statuses = pipeline.run([&](core::Arbiter& arbiter, runtime::Run& run) {
    std::unique_ptr<Groups> groups;
    if (Status s = Groups::connect(run, arbiter.facts(), "", groups); !s.ok()) return s;
    std::unique_lock lock(mutex);
    const torch::nn::Linear whole(8, 4);
    lock.unlock();
    TorchModel model;
    model.autocast = torch::kBFloat16;
    const auto type_of = [&](const Group& group) {
      const Tensor x = torch::ones({2, 8 / group.size()});
      return run_forward(model, make_stage(RowParallelLinear(whole, group)), {x}, {})
          .toTensor()
          .scalar_type();
    };
    EXPECT_EQ(type_of(groups->members()), type_of(Group()));
    return Status();
  });
  for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status.message();
}

TEST(TensorShares, divide_and_come_back) {
  const Tensor whole = torch::arange(48).view({12, 4});
  for (const std::int64_t dimension : {0, 1}) {
    for (const std::int64_t blocks : {1, 2}) {
      Tensor again = torch::zeros_like(whole);
      for (int member = 0; member < 2; ++member) {
        const TensorShare share = TensorShare{dimension, blocks}.of_member(member, 2);
        share.put(share.part_of(whole), again);
      }
      EXPECT_TRUE(torch::equal(again, whole)) << dimension << ", " << blocks;
    }
  }
  EXPECT_THROW((void)(TensorShare{0, 1}.of_member(0, 5).part_of(whole)), std::invalid_argument);
}

}  // namespace
}  // namespace ripeline::runtime
