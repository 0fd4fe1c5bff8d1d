// Runs the forward of a stage with its random draws seeded, under autocast if the model asks so.
//
// A pipeline's tasks use it; so should an unpipelined model that is to give the same numbers:
//
//   torch::IValue x = on_device(model, model.inputs[0](step, microbatch));
//   for (int stage = 0; stage < stages; ++stage)
//     x = run_forward(model, model.stages[stage], {x}, {step, microbatch, stage});
//   run_loss(model, x, {step, microbatch}).div(microbatches).backward();
//
// A stage's draws depend only on the model's seed, step, microbatch and stage, not on task order.
// To that end each forward seeds LibTorch's generators, the processor's and the device's. All
// threads of a process share these, so stages must not draw if the ranks are threads.
//
// Under autocast LibTorch's cache of cast weights is off: all threads share that cache, and what
// one thread finds in it depends on the others. A weight that a stage uses twice is cast twice.
// The backward needs no autocast region, since casts are nodes of the graph.
//
// Exceptions of the model pass through. One thread at a time.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "runtime/torch/stage.h"

namespace ripeline::runtime {

// Identifies a forward; the microbatches of a step are numbered over all its passes.
struct ForwardPlace {
  std::int64_t step = 0;
  int microbatch = 0;
  int stage = 0;
};

// The value with its tensors on the model's device. The host does not wait until they are there.
torch::IValue on_device(const TorchModel& model, const torch::IValue& value);

// Runs `stage`, whose number is in `place`, on what other stages gave and on its own data.
torch::IValue run_forward(const TorchModel& model, const TorchStage& stage,
                          const StageInputs& inputs, const ForwardPlace& place);

// The loss of what the last stage gave, computed in float32, on the labels of step and microbatch.
torch::Tensor run_loss(const TorchModel& model, const torch::IValue& output,
                       const ForwardPlace& place);

}  // namespace ripeline::runtime
