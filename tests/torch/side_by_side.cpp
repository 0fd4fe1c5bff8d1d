#include "tests/torch/side_by_side.h"

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adam.h>
#include <torch/utils.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <thread>

#include "core/draw.h"
#include "runtime/torch/forward.h"
#include "runtime/torch/torch_device.h"
#include "tests/torch/pipeline.h"

namespace ripeline::testing_support {

using core::Status;
using runtime::TorchModel;
using runtime::TorchStage;
using torch::Tensor;

namespace {

// The complete model in one process, without a pipeline.
class Unpipelined {
 public:
  Unpipelined(const Training& training, int stages) : training_(training) {
    for (int stage = 0; stage < stages; ++stage) {
      stages_.push_back(make_mlp_stage(stage));
      if (training.change_stage) training.change_stage(stages_.back());
      for (const auto& parameter : stages_.back().parameters) all_.push_back(parameter.tensor);
    }
  }

  // Sums the gradients of a step with the data and precision of `model`; returns the loss.
  double accumulate(const TorchModel& model, std::int64_t step) {
    for (Tensor& parameter : all_) parameter.mutable_grad().reset();
    const int microbatches = kMicrobatches * training_.trainer.passes;
    double sum = 0;
    for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
      torch::IValue x = model.inputs.at(0)(step, microbatch);
      for (std::size_t i = 0; i < stages_.size(); ++i) {
        x = run_forward(model, stages_[i], {x}, {step, microbatch, static_cast<int>(i)});
      }
      const Tensor loss = run_loss(model, x, {step, microbatch}) / microbatches;
      loss.backward();
      sum += loss.item<double>();
    }
    return sum;
  }

  std::vector<Tensor>& parameters() { return all_; }
  [[nodiscard]] const TorchStage& stage(int number) const {
    return stages_[static_cast<std::size_t>(number)];
  }

 private:
  const Training& training_;
  std::vector<TorchStage> stages_;
  std::vector<Tensor> all_;
};

// A NaN counts as an infinite difference.
void raise(double& largest, double value) {
  largest = std::max(largest, std::isnan(value) ? std::numeric_limits<double>::infinity() : value);
}

double difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.scalar_type(), b.scalar_type());
  return (a.cpu() - b).abs().max().item<double>();
}

void move_to(runtime::TorchDevice& device, TorchModel& model) {
  model.device = &device;
  for (auto& [number, stage] : model.stages) {
    for (auto& parameter : stage.parameters) {
      parameter.tensor.set_data(parameter.tensor.to(device.device()));
    }
  }
}

struct OfRank {
  std::unique_ptr<runtime::TorchDevice> device;
  Outcome outcome;
  runtime::OffloadReport offloaded;
};

Status train_rank(const Training& training, core::Arbiter& arbiter, runtime::Run& run,
                  OfRank& of_rank) {
  Outcome& outcome = of_rank.outcome;
  TorchModel model = make_mlp(arbiter.facts(), arbiter.rank());
  for (auto& [number, stage] : model.stages) {
    if (training.change_stage) training.change_stage(stage);
  }
  if (training.change_model) training.change_model(model);
  const TorchModel on_host = model;
  if (of_rank.device != nullptr) move_to(*of_rank.device, model);
  runtime::TorchWork work(std::move(model));
  torch::optim::Adam optimizer(parameters_of(work.model()), training.rate);
  runtime::TorchTrainer trainer(arbiter, run, work, &optimizer, training.trainer);
  Unpipelined whole(training, arbiter.facts().stages);
  torch::optim::Adam whole_optimizer(whole.parameters(), training.rate);
  const auto each = [&](const auto& compare) {
    for (const auto& [number, stage] : work.model().stages) {
      const TorchStage& theirs = whole.stage(number);
      for (std::size_t i = 0; i < theirs.parameters.size(); ++i) {
        compare(stage.parameters[i].tensor, theirs.parameters[i].tensor);
      }
    }
  };
  for (int step = 0; step < training.steps; ++step) {
    runtime::TrainReport report;
    if (Status s = trainer.accumulate(kMicrobatches, report); !s.ok()) return s;
    EXPECT_EQ(work.live(), 0U);
    const double loss = whole.accumulate(on_host, step);
    each([&](const Tensor& a, const Tensor& b) {
      raise(outcome.gradient, difference(a.grad(), b.grad()));
    });
    if (Status s = trainer.update(report); !s.ok()) return s;
    const double norm =
        torch::nn::utils::clip_grad_norm_(whole.parameters(), training.trainer.clip);
    EXPECT_GT(norm, training.trainer.clip);
    whole_optimizer.step();
    raise(outcome.loss, std::abs(report.loss - loss));
    raise(outcome.norm, std::abs(report.gradient_norm - norm));
    each([&](const Tensor& a, const Tensor& b) { raise(outcome.parameter, difference(a, b)); });
    of_rank.offloaded = work.offloaded();
  }
  return {};
}

}  // namespace

runtime::BeforeTask late_at_random(std::uint64_t seed) {
  return [seed](const runtime::TaskInfo& task) {
    const std::uint64_t bits = core::draw_bits(
        seed, {static_cast<std::uint64_t>(task.step), static_cast<std::uint64_t>(task.task.lane),
               static_cast<std::uint64_t>(task.microbatch)});
    if (bits % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(bits / 3 % 1000));
  };
}

Tensor random_tensor(std::int64_t seed, std::vector<std::int64_t> shape) {
  auto generator = at::detail::createCPUGenerator(static_cast<std::uint64_t>(seed));
  return torch::randn(shape, generator);
}

TorchStage make_mlp_stage(int stage) {
  torch::nn::Sequential module(torch::nn::Linear(kWidth, 2 * kWidth), torch::nn::GELU(),
                               torch::nn::Linear(2 * kWidth, kWidth));
  torch::NoGradGuard no_grad;
  std::int64_t seed = 100 * stage;
  for (Tensor& parameter : module->parameters()) {
    parameter.copy_(random_tensor(seed++, parameter.sizes().vec()) * 0.2);
  }
  return runtime::make_stage(module);
}

TorchModel make_mlp(const core::ProgramFacts& facts, int rank) {
  TorchModel model;
  for (const core::LaneFacts& lane : facts.lanes) {
    if (lane.rank == rank && !model.stages.contains(lane.stage)) {
      model.stages[lane.stage] = make_mlp_stage(lane.stage);
    }
  }
  model.inputs[0] = [](std::int64_t step, int microbatch) {
    return random_tensor(10'000 + 100 * step + microbatch, {4, kWidth});
  };
  model.labels = [](std::int64_t step, int microbatch) {
    return random_tensor(50'000 + 100 * step + microbatch, {4, kWidth});
  };
  model.loss = [](const Tensor& output, const Tensor& labels) {
    return torch::mse_loss(output, labels);
  };
  return model;
}

std::vector<Tensor> parameters_of(const TorchModel& model) {
  std::vector<Tensor> parameters;
  for (const auto& [number, stage] : model.stages) {
    for (const auto& parameter : stage.parameters) parameters.push_back(parameter.tensor);
  }
  return parameters;
}

Outcome train_side_by_side(const Training& training,
                           std::vector<runtime::OffloadReport>& offloads) {
  const Pipeline pipeline(training.program);
  std::vector<OfRank> ranks(static_cast<std::size_t>(pipeline.facts().ranks));
  const auto body = [&](core::Arbiter& arbiter, runtime::Run& run) {
    return train_rank(training, arbiter, run, ranks[static_cast<std::size_t>(arbiter.rank())]);
  };
  const auto open_device = [&](int rank, std::unique_ptr<runtime::Transport>& transport) {
    if (!training.open_device) return Status();
    auto& device = ranks[static_cast<std::size_t>(rank)].device;
    if (Status s = training.open_device(device); !s.ok()) return s;
    return device->carry(transport, std::chrono::seconds(60), nullptr);
  };
  Outcome worst;
  for (const Status& status : pipeline.run(body, open_device)) {
    if (!status.ok()) worst.failures.push_back(status.message());
  }
  for (const OfRank& rank : ranks) {
    raise(worst.gradient, rank.outcome.gradient);
    raise(worst.loss, rank.outcome.loss);
    raise(worst.norm, rank.outcome.norm);
    raise(worst.parameter, rank.outcome.parameter);
    offloads.push_back(rank.offloaded);
  }
  return worst;
}

Outcome train_side_by_side(const Training& training) {
  std::vector<runtime::OffloadReport> offloads;
  Outcome outcome = train_side_by_side(training, offloads);
  for (const std::string& failure : outcome.failures) ADD_FAILURE() << failure;
  outcome.failures.clear();
  return outcome;
}

}  // namespace ripeline::testing_support
