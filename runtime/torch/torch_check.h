// Whether a model can do what a program asks of a rank's LibTorch stages: what these can do at all
// (runtime/train_rules.h), and stages, data, loss and tied weights that fit. Private to TorchWork.
#pragma once

#include "core/facts.h"
#include "core/status.h"
#include "runtime/torch/stage.h"

namespace ripeline::runtime {

// Refused with what is missing or not built.
core::Status check_model(const TorchModel& model, const core::ProgramFacts& facts, int rank);

}  // namespace ripeline::runtime
