// Checks that a model can do what a program asks of a rank's LibTorch stages: that such stages can
// run these ops at all (runtime/training/train_rules.h), and that stages, data, loss and tied
// weights fit. Private to TorchWork.
#pragma once

#include "core/facts.h"
#include "core/status.h"
#include "runtime/torch/stage.h"

namespace ripeline::runtime {

// A refusal names what is missing or not supported.
core::Status check_model(const TorchModel& model, const core::ProgramFacts& facts, int rank);

}  // namespace ripeline::runtime
