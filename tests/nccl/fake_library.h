// The plug-in's code, linked to the fake of NCCL instead of loaded.
#pragma once

#include "runtime/cuda/nccl/plugin.h"

namespace ripeline::testing_support {

inline const runtime::cuda::NcclLibrary& fake_nccl() { return *ripeline_nccl_library(); }

}  // namespace ripeline::testing_support
