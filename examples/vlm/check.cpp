#include "check.h"

#include <torch/utils.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace vlm {

using ripeline::core::EdgeFacts;
using ripeline::core::LaneFacts;
using ripeline::core::OpKind;
using ripeline::core::Status;
using ripeline::core::StatusCode;
using ripeline::runtime::NamedTensor;
using ripeline::runtime::TorchStage;

namespace {

constexpr double kTolerance = 1e-5;  // for schedules that do not fix the order of sums

std::vector<int> all_stages() {
  std::vector<int> stages(kStages);
  std::iota(stages.begin(), stages.end(), 0);
  return stages;
}

}  // namespace

Check::Check(const Options& options, const Schedule& schedule, const Pipeline& pipeline,
             const std::shared_ptr<const Batches>& batches)
    : microbatches_(options.microbatches),
      pipeline_(pipeline),
      whole_(make_model(options, schedule, all_stages(), batches)),
      before_(kStages) {
  const auto& facts = schedule.facts;
  for (const EdgeFacts& edge : facts.edges) {
    const LaneFacts& from = facts.lanes[static_cast<std::size_t>(edge.producer)];
    const LaneFacts& to = facts.lanes[static_cast<std::size_t>(edge.consumer)];
    if (facts.ops[static_cast<std::size_t>(to.op)].kind == OpKind::forward) {
      before_[static_cast<std::size_t>(to.stage)].push_back(from.stage);
    }
  }
  for (std::vector<int>& stages : before_) std::sort(stages.begin(), stages.end());
  result_.tolerance = schedule.fixed_sum ? 0 : kTolerance;
}

// Each rank sends the parameters of its stages; stage s is on rank s.
Status Check::take_parameters(ripeline::runtime::Run& run) {
  const torch::NoGradGuard no_grad;
  std::string mine;
  for (const auto& [number, stage] : pipeline_.work().model().stages) {
    for (const NamedTensor& parameter : stage.parameters) {
      const torch::Tensor values = parameter.tensor.contiguous();
      mine.append(static_cast<const char*>(values.const_data_ptr()), values.nbytes());
    }
  }
  std::vector<std::string> all;
  if (Status status = gather(run, mine, all); !status.ok()) return status;
  for (auto& [number, stage] : whole_.stages) {
    const std::string& theirs = all[static_cast<std::size_t>(number)];
    std::size_t at = 0;
    for (NamedTensor& parameter : stage.parameters) {
      torch::Tensor values = torch::empty_like(parameter.tensor);
      if (at + values.nbytes() > theirs.size()) {
        return {StatusCode::invalid, "too few parameters of stage " + std::to_string(number)};
      }
      std::memcpy(values.mutable_data_ptr(), theirs.data() + at, values.nbytes());
      parameter.tensor.copy_(values);
      at += values.nbytes();
    }
  }
  return {};
}

double Check::accumulate(std::int64_t step) {
  for (auto& [number, stage] : whole_.stages) {
    for (NamedTensor& parameter : stage.parameters) parameter.tensor.mutable_grad().reset();
  }
  double sum = 0;
  for (int microbatch = 0; microbatch < microbatches_; ++microbatch) {
    std::vector<torch::IValue> outputs;
    for (const auto& [number, stage] : whole_.stages) {
      ripeline::runtime::StageInputs inputs;
      for (const int from : before_[static_cast<std::size_t>(number)]) {
        inputs.push_back(outputs[static_cast<std::size_t>(from)]);
      }
      const auto data = whole_.inputs.find(number);
      if (data != whole_.inputs.end()) inputs.push_back(data->second(step, microbatch));
      const torch::Tensor output = stage.forward(inputs).toTensor();
      // Gradients that are slices may be summed in another order; those in messages are not slices.
      output.register_hook([](const torch::Tensor& gradient) { return gradient.contiguous(); });
      outputs.push_back(output);
    }
    const torch::Tensor loss =
        whole_.loss({outputs.back(), whole_.labels(step, microbatch)}).toTensor() / microbatches_;
    loss.backward();
    sum += loss.item<double>();
  }
  return sum;
}

void Check::compare_gradients() {
  for (const auto& [number, whole] : whole_.stages) {
    const auto mine = pipeline_.work().model().stages.find(number);
    for (std::size_t i = 0; i < whole.parameters.size(); ++i) {
      const torch::Tensor& expected = whole.parameters[i].tensor.grad();
      result_.largest_gradient =
          std::max(result_.largest_gradient, expected.abs().max().item<double>());
      if (mine == pipeline_.work().model().stages.end()) continue;
      const torch::Tensor& found = mine->second.parameters[i].tensor.grad();
      raise(found.defined() ? (found - expected).abs().max().item<double>() : INFINITY,
            std::to_string(number) + "." + whole.parameters[i].name);
    }
  }
}

void Check::raise(double difference, const std::string& parameter) {
  // Negated, so that a difference that is not a number is noted, too.
  if (!(difference <= result_.gradient)) {
    result_.gradient = difference;
    result_.parameter = parameter;
  }
}

Status Check::compare(ripeline::runtime::Run& run, std::int64_t step) {
  if (Status status = take_parameters(run); !status.ok()) return status;
  loss_ = accumulate(step);
  compare_gradients();
  // The rank with the last stage knows the pipeline's loss.
  const bool last = pipeline_.work().model().stages.contains(kStages - 1);
  const double difference = last ? std::abs(pipeline_.work().loss() - loss_) : 0;
  std::array<char, 80> numbers{};
  std::snprintf(numbers.data(), numbers.size(), "%.17g %.17g ", difference, result_.gradient);
  std::vector<std::string> all;
  if (Status status = gather(run, numbers.data() + result_.parameter, all); !status.ok()) {
    return status;
  }
  for (const std::string& theirs : all) {
    char* end = nullptr;
    const double their_loss = std::strtod(theirs.c_str(), &end);
    if (!(their_loss <= result_.loss)) result_.loss = their_loss;
    const double gradient = std::strtod(end, &end);
    raise(gradient, *end == ' ' ? end + 1 : "unknown");
  }
  ++result_.steps;
  return {};
}

}  // namespace vlm
