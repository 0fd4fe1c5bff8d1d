// Tensors as payloads: dtype, shape and data (docs/formats.md).
//
// encode() copies the data once; decode() copies nothing: the tensor keeps the payload alive. Any
// bytes may be decoded: what is no tensor is refused by status before anything is allocated.
// Dense CPU tensors of floating-point, integer and bool types, up to 16 dimensions. Stateless.
#pragma once

#include <torch/types.h>

#include "core/status.h"
#include "runtime/transport/transport.h"

namespace ripeline::runtime {

core::Status encode_tensor(const torch::Tensor& tensor, Payload& payload);

// `tensor` needs no gradient; it is a leaf that may be made to.
core::Status decode_tensor(Payload payload, torch::Tensor& tensor);

}  // namespace ripeline::runtime
