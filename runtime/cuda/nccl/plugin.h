// The plug-in's entry point, for programs that load the plug-in or link its code.
#pragma once

#include "runtime/cuda/nccl/nccl_library.h"

extern "C" const ripeline::runtime::cuda::NcclLibrary* ripeline_nccl_library();
