#include "runtime/torch/gradient_summary.h"

#include <torch/torch.h>

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

// What a peer sent; false when it is malformed.
bool decode(const Blob& payload, GradientSummary& summary) {
  std::vector<double> numbers(payload.size() / sizeof(double));
  if (numbers.empty() || payload.size() % sizeof(double) != 0) return false;
  std::memcpy(numbers.data(), payload.data(), payload.size());
  summary.loss = numbers[0];
  for (std::size_t i = 1; i < numbers.size();) {
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

// The stage whose parameters with gradients are not those of member 0, or nothing. Replicas have a
// part of the loss each, and the same gradients.
std::optional<int> add(const GradientSummary& part, const core::Coordinates& of,
                       GradientSummary& total) {
  const int member = of.member;
  if (member == 0) total.loss += part.loss;
  if (of.replica > 0) return std::nullopt;
  for (const auto& [stage, norms] : part.norms) {
    std::vector<Norm>& all = total.norms[stage];
    if (member == 0) {
      all = norms;
      continue;
    }
    if (all.size() != norms.size()) return stage;
    for (std::size_t i = 0; i < norms.size(); ++i) {
      // What is not finite is seen wherever it is.
      if (norms[i].is_part || !std::isfinite(norms[i].norm)) {
        all[i].norm = std::hypot(all[i].norm, norms[i].norm);
      }
    }
  }
  return std::nullopt;
}

}  // namespace

GradientSummary summarise(const TorchWork& work) {
  GradientSummary summary{.loss = work.loss(), .norms = {}};
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
  // The one wait for a device.
  const Tensor all = torch::stack(values).cpu();
  const float* next = all.const_data_ptr<float>();
  for (auto& [number, norms] : summary.norms) {
    for (Norm& norm : norms) norm.norm = *next++;
  }
  return summary;
}

Blob encode(const GradientSummary& summary) {
  std::vector<double> numbers = {summary.loss};
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
    const std::optional<int> other = add(part, layout.at(process), total);
    if (!other) continue;
    return {StatusCode::failed, layout.name(process) + " has gradients of other parameters of " +
                                    "stage " + std::to_string(*other) +
                                    " than its rank's member 0"};
  }
  return {};
}

Status check_loss(const GradientSummary& total) {
  if (std::isfinite(total.loss)) return {};
  return {StatusCode::failed, "the loss is " + std::to_string(total.loss)};
}

Status check_norms(const GradientSummary& total) {
  for (const auto& [stage, norms] : total.norms) {
    for (const auto& [norm, is_part] : norms) {
      if (!std::isfinite(norm)) {
        return {StatusCode::failed, "the norm of a gradient of stage " + std::to_string(stage) +
                                        " is " + std::to_string(norm)};
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
