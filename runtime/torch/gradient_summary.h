// What the ranks tell each other of loss and gradients at the end of a step, and what all of them
// conclude from it: the same on every rank. No I/O; private to TorchTrainer.
#pragma once

#include <map>
#include <vector>

#include "core/status.h"
#include "runtime/payload.h"
#include "runtime/torch/torch_work.h"

namespace ripeline::runtime {

// Of one rank, or of all together.
struct GradientSummary {
  double loss = 0;
  std::map<int, std::vector<float>> norms;  // by stage, in the parameters' order
};

GradientSummary summarise(const TorchWork& work);

// As doubles: the loss, then for each stage its number, how many norms follow, and the norms.
Blob encode(const GradientSummary& summary);
// The sum of all ranks'; fails when one is malformed.
core::Status add_up(const std::vector<Blob>& all, GradientSummary& total);

// Failures that say what is not finite, and where.
core::Status check_loss(const GradientSummary& total);
core::Status check_norms(const GradientSummary& total);

// The norm of all gradients, by the operations of clip_grad_norm_ on all parameters in stage order,
// so that it is bitwise that of the unpipelined model.
torch::Tensor total_norm(const GradientSummary& total);

}  // namespace ripeline::runtime
