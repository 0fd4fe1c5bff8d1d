// The summaries of loss and gradients that processes exchange at the end of a step, and the
// conclusions that every process draws from all of them alike. No I/O; private to TorchTrainer.
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

// The summary of one process, or the total of all processes.
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

// Encodes the summary as doubles: the loss; for the first loss that is not finite, its microbatch
// (-1 if there is none), its stage, and whether that stage's inputs were finite (-1 if unknown);
// for each stage its number, the number of norms, and each norm with whether it is of a share.
Blob encode(const GradientSummary& summary);
// Adds up all summaries, given by process; fails if one is malformed, or if members of a rank have
// gradients of different parameters. If a parameter is divided among members, its norm is that of
// all shares together; a parameter that each member has in full counts once.
core::Status add_up(const std::vector<Blob>& all, const core::Layout& layout,
                    GradientSummary& total);

// Fail if a loss or a norm is not finite, and tell where; `step` is the step of training.
core::Status check_loss(const GradientSummary& total, std::int64_t step);
core::Status check_norms(const GradientSummary& total, std::int64_t step);

// The norm of all gradients, computed from the norms of all parameters in stage order, in float and
// on the host. So it is bitwise equal to the norm that clip_grad_norm_ computes for an unpipelined
// model on the host; a GPU adds up in another order.
torch::Tensor total_norm(const GradientSummary& total);

}  // namespace ripeline::runtime
