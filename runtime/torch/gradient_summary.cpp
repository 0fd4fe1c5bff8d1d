#include "runtime/torch/gradient_summary.h"

#include <torch/torch.h>

#include <cmath>
#include <cstring>
#include <string>

namespace ripeline::runtime {

using core::Status;
using core::StatusCode;
using torch::Tensor;

namespace {

// Adds what a peer sent to `total`; false when it is malformed.
bool add(const Blob& payload, GradientSummary& total) {
  std::vector<double> numbers(payload.size() / sizeof(double));
  if (numbers.empty() || payload.size() % sizeof(double) != 0) return false;
  std::memcpy(numbers.data(), payload.data(), payload.size());
  total.loss += numbers[0];
  for (std::size_t i = 1; i < numbers.size();) {
    if (i + 2 > numbers.size()) return false;
    const double stage = numbers[i];
    const double count = numbers[i + 1];
    i += 2;
    if (!(stage >= 0 && stage < 1e9) || !(count >= 0) ||
        count > static_cast<double>(numbers.size() - i)) {
      return false;
    }
    std::vector<float>& norms = total.norms[static_cast<int>(stage)];
    for (const std::size_t end = i + static_cast<std::size_t>(count); i < end; ++i) {
      norms.push_back(static_cast<float>(numbers[i]));
    }
  }
  return true;
}

}  // namespace

GradientSummary summarise(const TorchWork& work) {
  GradientSummary summary{.loss = work.loss(), .norms = {}};
  for (const auto& [number, stage] : work.model().stages) {
    std::vector<float>& norms = summary.norms[number];
    for (const NamedTensor& parameter : stage.parameters) {
      const Tensor& gradient = parameter.tensor.grad();
      if (gradient.defined()) norms.push_back(gradient.norm(2).item<float>());
    }
  }
  return summary;
}

Blob encode(const GradientSummary& summary) {
  std::vector<double> numbers = {summary.loss};
  for (const auto& [number, norms] : summary.norms) {
    numbers.push_back(number);
    numbers.push_back(static_cast<double>(norms.size()));
    numbers.insert(numbers.end(), norms.begin(), norms.end());
  }
  Blob bytes(numbers.size() * sizeof(double));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

Status add_up(const std::vector<Blob>& all, GradientSummary& total) {
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (add(all[rank], total)) continue;
    return {StatusCode::invalid, "rank " + std::to_string(rank) + " sent a malformed summary"};
  }
  return {};
}

Status check_loss(const GradientSummary& total) {
  if (std::isfinite(total.loss)) return {};
  return {StatusCode::failed, "the loss is " + std::to_string(total.loss)};
}

Status check_norms(const GradientSummary& total) {
  for (const auto& [stage, norms] : total.norms) {
    for (float norm : norms) {
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
    norms.insert(norms.end(), of_stage.begin(), of_stage.end());
  }
  if (norms.empty()) return torch::zeros({});
  if (norms.size() == 1) return torch::tensor(norms[0]);
  return torch::tensor(norms).norm(2);
}

}  // namespace ripeline::runtime
