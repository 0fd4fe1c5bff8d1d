// Whether a model can do what a program asks of a rank's LibTorch stages: ops, stages, data and
// loss, gradients from each stage that a stage feeds. Private to TorchWork.
#pragma once

#include "core/facts.h"
#include "core/status.h"
#include "runtime/torch/stage.h"

namespace ripeline::runtime {

// Refused with what is missing or not built.
core::Status check_model(const TorchModel& model, const core::ProgramFacts& facts, int rank);

}  // namespace ripeline::runtime
