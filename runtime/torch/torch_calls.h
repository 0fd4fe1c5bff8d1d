// What the tasks of LibTorch stages get and give: values and their gradients, out of a Call and
// into one. Private to TorchWork.
#pragma once

#include <string>
#include <vector>

#include "runtime/torch/torch_work.h"

namespace ripeline::runtime {

// Names the task.
core::Status failed(const TaskInfo& task, const std::string& what);
std::string shape_of(const torch::Tensor& tensor);

// What other stages gave, in the order of their numbers, as leaves.
core::Status take_values(Call& call, StageInputs& values, std::vector<SavedInput>& inputs);
// Of a stage's outputs, those of several stages summed, the last stage's first; undefined where
// there is none.
core::Status take_gradients(Call& call, const std::vector<torch::Tensor>& outputs,
                            std::vector<torch::Tensor>& gradients);

// To all that compute with it.
core::Status give_value(Call& call, const torch::IValue& value);
// By tensor of the inputs; to the stages that gave them.
core::Status give_gradients(Call& call, const std::vector<SavedInput>& inputs,
                            const std::vector<torch::Tensor>& gradients);
void pass_on(Call& call);

}  // namespace ripeline::runtime
