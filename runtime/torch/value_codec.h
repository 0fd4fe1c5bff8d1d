// The values that stages send each other, as payloads: a tensor, or tensors in tuples, lists and
// dictionaries (docs/formats.md). The head has types and shapes, a part has the data of one tensor.
//
// Nothing is copied: a part is the tensor's storage, and a decoded tensor keeps its part. So a
// tensor must not be written to once it is sent. Any bytes may be decoded: bytes that are no value
// are refused by status before anything is allocated. A part names its device, and a decoded tensor
// is on the device of its part. A value may have up to 64 dense tensors of floating-point, integer
// and bool types, with up to 16 dimensions. `None`, or an undefined tensor, is None at the other
// end. Stateless.
#pragma once

#include <torch/types.h>

#include <functional>
#include <vector>

#include "core/status.h"
#include "runtime/payload.h"

namespace ripeline::runtime {

core::Status encode_value(const torch::IValue& value, Payload& payload);

// The value's tensors do not require gradients, but are leaves for which that can be set.
core::Status decode_value(Payload payload, torch::IValue& value);

// The tensors of a value, in order, undefined ones too. Throws c10::Error if it has anything else.
std::vector<torch::Tensor> tensors_of(const torch::IValue& value);

// Returns the value with `change` applied to each defined tensor. Throws as tensors_of() does.
torch::IValue with_each(const torch::IValue& value,
                        const std::function<torch::Tensor(const torch::Tensor&)>& change);

}  // namespace ripeline::runtime
