// load_nccl(): the plug-in libripeline_nccl.so, from where the loader looks or where it was built.
#pragma once

#include "runtime/cuda/nccl/nccl_library.h"

namespace ripeline::runtime {

// The plug-in's, which stays loaded. Refused: it was not built, or NCCL is not here. Any thread.
core::Status load_nccl(const NcclLibrary*& library);

}  // namespace ripeline::runtime
