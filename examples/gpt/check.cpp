#include "check.h"

#include <torch/utils.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "report.h"
#include "runtime/torch/forward.h"

namespace gpt {

using ripeline::core::Status;
using ripeline::core::StatusCode;
using ripeline::runtime::Blob;
using ripeline::runtime::NamedTensor;
using ripeline::runtime::run_forward;
using ripeline::runtime::run_loss;
using ripeline::runtime::TrainReport;

namespace {

constexpr double kTolerance = 1e-5;

Blob bytes_of(const std::vector<NamedTensor>& parameters) {
  Blob bytes;
  for (const NamedTensor& parameter : parameters) {
    const torch::Tensor values = parameter.tensor.detach().cpu().contiguous();
    const auto* first = static_cast<const std::byte*>(values.const_data_ptr());
    bytes.insert(bytes.end(), first, first + values.nbytes());
  }
  return bytes;
}

// Copies a member's parts of the parameters into whole parameters. False if `bytes` do not fit.
bool put(const Blob& bytes, int member, int members, std::vector<NamedTensor>& whole) {
  std::size_t at = 0;
  for (NamedTensor& parameter : whole) {
    const ripeline::runtime::TensorShare share = parameter.share.of_member(member, members);
    torch::Tensor part = torch::empty_like(share.part_of(parameter.tensor), torch::kCPU);
    if (part.nbytes() > bytes.size() - at) return false;
    std::memcpy(part.mutable_data_ptr(), bytes.data() + at, part.nbytes());
    share.put(part.to(parameter.tensor.device()), parameter.tensor);
    at += part.nbytes();
  }
  return at == bytes.size();
}

}  // namespace

Check::Check(const Options& options, const Schedule& schedule,
             const ripeline::runtime::TorchModel& pipelined)
    : options_(options),
      exact_(schedule.fixed_sum),
      layout_(layout_of(schedule.facts)),
      pipelined_(pipelined),
      whole_(pipelined),
      stages_(make_whole(options.model, schedule.facts.stages, device_of(pipelined.device))) {
  whole_.loss = loss();
  std::set<const void*> known;
  for (const ripeline::runtime::TorchStage& stage : stages_) {
    for (const NamedTensor& parameter : stage.parameters) {
      if (!known.insert(parameter.tensor.unsafeGetTensorImpl()).second) continue;
      parameters_.push_back(parameter.tensor);
    }
  }
  optimizer_ = std::make_unique<torch::optim::AdamW>(parameters_, options.rate);
  result_.tolerance = exact_ ? 0 : kTolerance;
}

// Copies the parameters of the pipeline's stages to this process, one stage after another. All
// ranks take part: for each stage the members of its rank in the first replica send theirs.
Status Check::before(ripeline::runtime::Run& run) {
  if (exact_) return {};
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    const auto mine = pipelined_.stages.find(static_cast<int>(stage));
    std::vector<Blob> all;
    Status status = run.gather(
        "parameters/" + std::to_string(stage),
        mine == pipelined_.stages.end() ? Blob() : bytes_of(mine->second.parameters), all);
    if (!status.ok()) return status;
    int given = 0;
    for (int process = 0; process < layout_.processes(); ++process) {
      const Blob& theirs = all[static_cast<std::size_t>(process)];
      if (theirs.empty() || layout_.at(process).replica > 0) continue;
      if (!put(theirs, layout_.at(process).member, layout_.members, stages_[stage].parameters)) {
        given = 0;
        break;
      }
      ++given;
    }
    if (given == 0) {
      return {StatusCode::invalid, "no parameters of stage " + std::to_string(stage) + " came"};
    }
  }
  return {};
}

// Computes the loss and the gradients of all microbatches. Each replica's gradients are computed
// separately and then summed, as replicas do it.
void Check::compute(std::int64_t step, double loss_scale) {
  optimizer_->zero_grad();
  loss_ = 0;
  const int of_replica = options_.microbatches * options_.accumulate;
  const int microbatches = of_replica * layout_.replicas;
  std::vector<torch::Tensor> before;  // the sums of earlier replicas' gradients
  for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
    if (microbatch > 0 && microbatch % of_replica == 0) put_aside(before);
    torch::IValue x = on_device(whole_, whole_.inputs.at(0)(step, microbatch));
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      x = run_forward(whole_, stages_[i], {x}, {step, microbatch, static_cast<int>(i)});
    }
    const torch::Tensor loss = run_loss(whole_, x, {step, microbatch}) / microbatches;
    loss.backward(torch::full_like(loss, loss_scale));
    loss_ += loss.item<double>();
  }
  if (!before.empty()) {
    put_aside(before);
    for (std::size_t i = 0; i < before.size(); ++i) parameters_[i].mutable_grad() = before[i];
  }
  const torch::NoGradGuard no_grad;
  is_finite_ = true;
  for (const torch::Tensor& parameter : parameters_) {
    if (loss_scale != 1) parameter.grad().mul_(1 / loss_scale);
    is_finite_ &= std::isfinite(parameter.grad().norm(2).item<float>());
  }
}

void Check::put_aside(std::vector<torch::Tensor>& sums) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    torch::Tensor gradient = std::exchange(parameters_[i].mutable_grad(), torch::Tensor());
    if (sums.size() == i) {
      sums.push_back(std::move(gradient));
    } else {
      sums[i] += gradient;
    }
  }
}

void Check::compare(std::int64_t step, double loss_scale) {
  compute(step, loss_scale);
  if (!is_finite_) return;
  for (const torch::Tensor& parameter : parameters_) {
    result_.largest_gradient =
        std::max(result_.largest_gradient, parameter.grad().abs().max().item<double>());
  }
  for (const auto& [number, stage] : pipelined_.stages) {
    const auto& whole = stages_[static_cast<std::size_t>(number)].parameters;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const torch::Tensor& mine = stage.parameters[i].tensor.grad();
      const torch::Tensor wanted = stage.parameters[i].share.part_of(whole[i].tensor.grad());
      const double difference =
          mine.defined() ? (mine - wanted).abs().max().item<double>() : INFINITY;
      raise(difference, whole[i].name);
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

Status Check::finish(ripeline::runtime::Run& run, const TrainReport& pipelined) {
  if (pipelined.skipped == is_finite_) raise(INFINITY, "whether the step is skipped");
  std::vector<std::string> all;
  std::array<char, 40> number{};  // text, as the value may be one that JSON cannot express
  std::snprintf(number.data(), number.size(), "%.17g ", result_.gradient);
  Status status = gather(run, number.data() + result_.parameter, all);
  if (!status.ok()) return status;
  for (const std::string& theirs : all) {
    char* end = nullptr;
    const double difference = std::strtod(theirs.c_str(), &end);
    raise(difference, *end == ' ' ? end + 1 : "unknown");
  }
  result_.loss = std::max(result_.loss, std::abs(pipelined.loss - loss_));
  ++result_.steps;
  if (exact_ && is_finite_) {
    if (options_.clip > 0) clip();
    optimizer_->step();
  }
  return {};
}

// Adds up the norms of all gradients on the host, as trainers do. A GPU would add them in another
// order, and its sum could differ in the last bit.
void Check::clip() {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> norms;
  for (const torch::Tensor& parameter : parameters_) norms.push_back(parameter.grad().norm(2));
  const torch::Tensor norm = torch::stack(norms).to(torch::kCPU, torch::kFloat).norm(2);
  const torch::Tensor factor = torch::clamp(options_.clip / (norm + 1e-6), std::nullopt, 1.0);
  for (const torch::Tensor& parameter : parameters_) parameter.grad().mul_(factor);
}

}  // namespace gpt
