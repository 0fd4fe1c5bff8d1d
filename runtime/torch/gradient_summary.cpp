#include "runtime/torch/gradient_summary.h"

#include <torch/types.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <string>

namespace ripeline::runtime {

using core::Status;
using core::StatusCode;
using torch::Tensor;
using Norm = GradientSummary::Norm;

namespace {

constexpr std::size_t kLossNumbers = 4;

std::vector<double> numbers_of(const StepLoss& loss) {
  if (!loss.not_finite) return {loss.sum, -1, -1, -1};
  const auto& [stage, microbatch, got_finite] = *loss.not_finite;
  return {loss.sum, static_cast<double>(microbatch), static_cast<double>(stage),
          !got_finite   ? -1.0
          : *got_finite ? 1.0
                        : 0.0};
}

bool decode_loss(const std::vector<double>& numbers, StepLoss& loss) {
  loss.sum = numbers[0];
  for (std::size_t i = 1; i < kLossNumbers; ++i) {
    if (!(numbers[i] >= -1 && numbers[i] < 1e9)) return false;
  }
  if (numbers[1] < 0) return true;
  loss.not_finite = {.stage = static_cast<int>(numbers[2]),
                     .microbatch = static_cast<int>(numbers[1]),
                     .got_finite = std::nullopt};
  if (numbers[3] >= 0) loss.not_finite->got_finite = numbers[3] > 0;
  return true;
}

// Reads the summary of a peer; false if it is malformed.
bool decode(const Blob& payload, GradientSummary& summary) {
  std::vector<double> numbers(payload.size() / sizeof(double));
  if (numbers.size() < kLossNumbers || payload.size() % sizeof(double) != 0) return false;
  std::memcpy(numbers.data(), payload.data(), payload.size());
  if (!decode_loss(numbers, summary.loss)) return false;
  for (std::size_t i = kLossNumbers; i < numbers.size();) {
    if (i + 2 > numbers.size()) return false;
    const double stage = numbers[i];
    const double count = numbers[i + 1];
    i += 2;
    if (!(stage >= 0 && stage < 1e9) || !(count >= 0) ||
        2 * count > static_cast<double>(numbers.size() - i)) {
      return false;
    }
    std::vector<Norm>& norms = summary.norms[static_cast<int>(stage)];
    for (const std::size_t end = i + 2 * static_cast<std::size_t>(count); i < end; i += 2) {
      norms.push_back({static_cast<float>(numbers[i]), numbers[i + 1] != 0});
    }
  }
  return true;
}

// Adds `part` to `total`. Returns the stage for which the number of norms differs from member 0's,
// if there is one. Each replica has a part of the loss, and all replicas have the same gradients.
std::optional<int> add(const GradientSummary& part, const core::Coordinates& of,
                       GradientSummary& total) {
  const int member = of.member;
  if (member == 0) total.loss.sum += part.loss.sum;
  if (of.replica > 0) return std::nullopt;
  for (const auto& [stage, norms] : part.norms) {
    std::vector<Norm>& all = total.norms[stage];
    if (member == 0) {
      all = norms;
      continue;
    }
    if (all.size() != norms.size()) return stage;
    for (std::size_t i = 0; i < norms.size(); ++i) {
      // The norm of a whole parameter counts once, but each norm counts that is not finite.
      if (norms[i].is_part || !std::isfinite(norms[i].norm)) {
        all[i].norm = std::hypot(all[i].norm, norms[i].norm);
      }
    }
  }
  return std::nullopt;
}

}  // namespace

GradientSummary summarise(const TorchWork& work) {
  GradientSummary summary{.loss = work.step_loss(), .norms = {}};
  std::vector<Tensor> values;
  for (const auto& [number, stage] : work.model().stages) {
    std::vector<Norm>& norms = summary.norms[number];
    for (const NamedTensor& parameter : stage.parameters) {
      const Tensor& gradient = parameter.tensor.grad();
      if (!gradient.defined() || !work.is_first_copy(number, parameter)) continue;
      values.push_back(gradient.norm(2).to(torch::kFloat));
      norms.push_back({.norm = 0, .is_part = parameter.share.is_part()});
    }
  }
  if (values.empty()) return summary;
  // This is the only place where the host waits for a device.
  const Tensor all = torch::stack(values).cpu();
  const float* next = all.const_data_ptr<float>();
  for (auto& [number, norms] : summary.norms) {
    for (Norm& norm : norms) norm.norm = *next++;
  }
  return summary;
}

Blob encode(const GradientSummary& summary) {
  std::vector<double> numbers = numbers_of(summary.loss);
  for (const auto& [number, norms] : summary.norms) {
    numbers.push_back(number);
    numbers.push_back(static_cast<double>(norms.size()));
    for (const Norm& norm : norms) {
      numbers.push_back(norm.norm);
      numbers.push_back(norm.is_part ? 1 : 0);
    }
  }
  Blob bytes(numbers.size() * sizeof(double));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

Status add_up(const std::vector<Blob>& all, const core::Layout& layout, GradientSummary& total) {
  for (int process = 0; process < layout.processes(); ++process) {
    GradientSummary part;
    if (!decode(all[static_cast<std::size_t>(process)], part)) {
      return {StatusCode::invalid, layout.name(process) + " sent a malformed summary"};
    }
    const auto& wrong = part.loss.not_finite;
    if (wrong &&
        (!total.loss.not_finite || wrong->microbatch < total.loss.not_finite->microbatch)) {
      total.loss.not_finite = wrong;
      total.not_finite_on = layout.name(process);
    }
    const std::optional<int> other = add(part, layout.at(process), total);
    if (!other) continue;
    return {StatusCode::failed, layout.name(process) + " has gradients of other parameters of " +
                                    "stage " + std::to_string(*other) +
                                    " than its rank's member 0"};
  }
  return {};
}

Status check_loss(const GradientSummary& total, std::int64_t step) {
  const StepLoss& loss = total.loss;
  if (std::isfinite(loss.sum)) return {};
  std::string text = "the loss is " + std::to_string(loss.sum) + " in step " + std::to_string(step);
  if (loss.not_finite) {
    text += ": first at stage " + std::to_string(loss.not_finite->stage) + " on " +
            total.not_finite_on + ", of microbatch " + std::to_string(loss.not_finite->microbatch);
    if (loss.not_finite->got_finite) {
      text += *loss.not_finite->got_finite ? ", where all that came in was finite"
                                           : ", where what came in was not finite already";
    }
  }
  return {StatusCode::failed, text};
}

Status check_norms(const GradientSummary& total, std::int64_t step) {
  for (const auto& [stage, norms] : total.norms) {
    for (const auto& [norm, is_part] : norms) {
      if (!std::isfinite(norm)) {
        return {StatusCode::failed, "the norm of a gradient of stage " + std::to_string(stage) +
                                        " is " + std::to_string(norm) + " in step " +
                                        std::to_string(step)};
      }
    }
  }
  return {};
}

Tensor total_norm(const GradientSummary& total) {
  std::vector<float> norms;
  for (const auto& [stage, of_stage] : total.norms) {
    for (const Norm& norm : of_stage) norms.push_back(norm.norm);
  }
  if (norms.empty()) return torch::zeros({});
  if (norms.size() == 1) return torch::tensor(norms[0]);
  return torch::tensor(norms).norm(2);
}

}  // namespace ripeline::runtime
