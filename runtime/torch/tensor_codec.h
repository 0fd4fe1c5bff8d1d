// Tensors as payloads: dtype and shape in the head, the data as a part (docs/formats.md).
//
// Nothing is copied: the part is the tensor's storage, and a tensor that is decoded keeps the part.
// So a tensor must not be written to once it is sent. Any bytes may be decoded: what is no tensor
// is refused by status before anything is allocated.
// Dense CPU tensors of floating-point, integer and bool types, up to 16 dimensions. Stateless.
#pragma once

#include <torch/types.h>

#include "core/status.h"
#include "runtime/payload.h"

namespace ripeline::runtime {

core::Status encode_tensor(const torch::Tensor& tensor, Payload& payload);

// `tensor` needs no gradient; it is a leaf that may be made to.
core::Status decode_tensor(Payload payload, torch::Tensor& tensor);

}  // namespace ripeline::runtime
