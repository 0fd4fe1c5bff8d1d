// Takes values and gradients of LibTorch stages out of the Call of a task, and puts such values and
// gradients into a Call. Private to TorchWork.
#pragma once

#include <string>
#include <vector>

#include "runtime/torch/torch_work.h"

namespace ripeline::runtime {

// A failure, whose text begins with the name of the task.
core::Status failed(const TaskInfo& task, const std::string& what);
std::string shape_of(const torch::Tensor& tensor);

// Takes the values of other stages, in the order of the stages' numbers, as leaves.
core::Status take_values(Call& call, StageInputs& values, std::vector<SavedInput>& inputs);
// Takes the gradients of a stage's outputs. Gradients from several stages are summed, the last
// stage's first. The gradient of an output for which none has arrived is undefined.
core::Status take_gradients(Call& call, const std::vector<torch::Tensor>& outputs,
                            std::vector<torch::Tensor>& gradients);

// Sends the value to all stages that compute with it.
core::Status give_value(Call& call, const torch::IValue& value);
// Sends the gradients, one for each tensor of the inputs, to the stages that sent the inputs.
core::Status give_gradients(Call& call, const std::vector<SavedInput>& inputs,
                            const std::vector<torch::Tensor>& gradients);
void pass_on(Call& call);

}  // namespace ripeline::runtime
