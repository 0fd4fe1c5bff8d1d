// The summaries of loss and gradients that processes exchange at the end of a step, and what all of
// them conclude: the same on every one. No I/O; private to TorchTrainer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/layout.h"
#include "core/status.h"
#include "runtime/payload.h"
#include "runtime/torch/torch_work.h"

namespace ripeline::runtime {

// The summary of one process, or of all together.
struct GradientSummary {
  // The norm of a parameter's gradient.
  struct Norm {
    float norm = 0;
    bool is_part = false;  // the norm of a share of the parameter
  };
  StepLoss loss;
  std::string not_finite_on = {};          // in a total: the process that has loss.not_finite
  std::map<int, std::vector<Norm>> norms;  // by stage, in the parameters' order
};

GradientSummary summarise(const TorchWork& work);

// As doubles: the loss; of the first loss that is not finite its microbatch (-1: there is none),
// its stage, and whether what came in was finite (-1: unknown); then for each stage its number, how
// many norms follow, and the norms, each with whether it is of a share.
Blob encode(const GradientSummary& summary);
// Adds up all summaries, by process; fails when one is malformed, or members have gradients of
// other parameters. The norm of a parameter that members share is that of all shares; a parameter
// that all have alike counts once.
core::Status add_up(const std::vector<Blob>& all, const core::Layout& layout,
                    GradientSummary& total);

// Failures that say what is not finite, and where; `step` is that of training.
core::Status check_loss(const GradientSummary& total, std::int64_t step);
core::Status check_norms(const GradientSummary& total, std::int64_t step);

// The norm of all gradients: of the norms of all parameters in stage order, in float and on the
// host. So it is bitwise what clip_grad_norm_ computes of an unpipelined model on the host; a GPU
// adds up in another order.
torch::Tensor total_norm(const GradientSummary& total);

}  // namespace ripeline::runtime
