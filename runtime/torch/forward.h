// Runs a stage's forward with its random draws seeded, under autocast if the model asks for that.
//
// A pipeline's tasks use this; so should an unpipelined model that must give the same numbers:
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
struct ForwardId {
  std::int64_t step = 0;
  int microbatch = 0;
  int stage = 0;
};

// The value with its tensors on the model's device. The host does not wait for the copies.
torch::IValue on_device(const TorchModel& model, const torch::IValue& value);

// Runs the stage, whose number is in `id`, on the outputs of other stages and on its own data.
torch::IValue run_forward(const TorchModel& model, const TorchStage& stage,
                          const StageInputs& inputs, const ForwardId& id);

// The loss of the last stage's output, in float32, with the labels of that step and microbatch.
torch::Tensor run_loss(const TorchModel& model, const torch::IValue& output, const ForwardId& id);

}  // namespace ripeline::runtime
