// The values that stages give each other, as payloads: a tensor, or tensors in tuples, lists and
// dictionaries (docs/formats.md). Types and shapes are the head, the data of each tensor is a part.
//
// Nothing is copied: a part is the tensor's storage, and a tensor that is decoded keeps its part.
// So a tensor must not be written to once it is sent. Any bytes may be decoded: what is no value is
// refused by status before anything is allocated.
// What lies on LibTorch's accelerator stays there: parts say so. What is decoded is where they are.
// Dense tensors of floating-point, integer and bool types, up to 16 dimensions; at most 64 of
// them. A value that is none, or an undefined tensor, is none at the other end. Stateless.
#pragma once

#include <torch/types.h>

#include <functional>
#include <vector>

#include "core/status.h"
#include "runtime/payload.h"

namespace ripeline::runtime {

core::Status encode_value(const torch::IValue& value, Payload& payload);

// Its tensors need no gradients; they are leaves that may be made to.
core::Status decode_value(Payload payload, torch::IValue& value);

// The tensors of a value, in order, undefined ones too. Throws c10::Error if it has anything else.
std::vector<torch::Tensor> tensors_of(const torch::IValue& value);

// The value with `change` of each of its defined tensors in its place. Throws likewise.
torch::IValue with_each(const torch::IValue& value,
                        const std::function<torch::Tensor(const torch::Tensor&)>& change);

}  // namespace ripeline::runtime
