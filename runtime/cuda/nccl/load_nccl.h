// load_nccl(): the plug-in libripeline_nccl.so, from where the loader looks or where it was built.
#pragma once

#include "runtime/cuda/nccl/nccl_library.h"

namespace ripeline::runtime::cuda {

// Loads the plug-in, which stays loaded. Refused if it was not built, or without NCCL. Any thread.
core::Status load_nccl(const NcclLibrary*& library);

}  // namespace ripeline::runtime::cuda
