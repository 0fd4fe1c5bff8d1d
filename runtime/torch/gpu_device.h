// A GPU as a TorchDevice. Private to TorchDevice::open.
#pragma once

#include <memory>

#include "runtime/torch/torch_device.h"

namespace ripeline::runtime {

// Opens `asked` or, if that has no number, the GPU of this rank. Refused by a build without CUDA.
core::Status open_gpu(c10::Device asked, int local_rank, std::unique_ptr<TorchDevice>& device);

}  // namespace ripeline::runtime
