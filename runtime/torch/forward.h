// How the forward of a stage runs: its draws seeded, and under autocast if the model says so.
//
// A pipeline's tasks do this, and so does a model without one that is to give the same numbers:
//
//   torch::IValue x = on_device(model, model.inputs[0](step, microbatch));
//   for (int stage = 0; stage < stages; ++stage)
//     x = run_forward(model, model.stages[stage], {x}, {step, microbatch, stage});
//   run_loss(model, x, {step, microbatch}).div(microbatches).backward();
//
// What a stage draws is a function of the model's seed, step, microbatch and stage, whatever runs
// when. For that LibTorch's generators are seeded, the processor's and the device's, which all
// threads of a process share: stages of ranks that are threads must not draw.
//
// Under autocast LibTorch's cache of weights that were cast is off: all threads share it, and what
// one of them finds there depends on the others. A weight that a stage uses twice is cast twice.
// The backward needs no region: casts are nodes of the graph.
//
// Exceptions of the model pass. One thread at a time.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "runtime/torch/stage.h"

namespace ripeline::runtime {

// Which forward; microbatches of a step are numbered over all its passes.
struct ForwardPlace {
  std::int64_t step = 0;
  int microbatch = 0;
  int stage = 0;
};

// The value with its tensors on the model's device. The host does not wait until they are there.
torch::IValue on_device(const TorchModel& model, const torch::IValue& value);

// Runs `stage`, which has the number in `place`, on what other stages gave and its own data.
torch::IValue run_forward(const TorchModel& model, const TorchStage& stage,
                          const StageInputs& inputs, const ForwardPlace& place);

// The loss of what the last stage gave, computed in float32, on the labels of step and microbatch.
torch::Tensor run_loss(const TorchModel& model, const torch::IValue& output,
                       const ForwardPlace& place);

}  // namespace ripeline::runtime
