// load_nccl(): loads libripeline_nccl.so, from where the loader finds it or where it was built.
#pragma once

#include "runtime/cuda/nccl/nccl_library.h"

namespace ripeline::runtime::cuda {

// Loads the plug-in for good. Refused if the plug-in was not built or finds no NCCL. Any thread.
core::Status load_nccl(const NcclLibrary*& library);

}  // namespace ripeline::runtime::cuda
