// load_nccl(): loads libripeline_nccl.so, from where the loader finds it or where it was built.
#pragma once

#include "runtime/cuda/nccl/nccl_library.h"

namespace ripeline::runtime::cuda {

// Loads the plug-in for the rest of the process. Refused without plug-in or NCCL. Any thread.
core::Status load_nccl(const NcclLibrary*& library);

}  // namespace ripeline::runtime::cuda
