// The plug-in's code on the fake of NCCL, linked rather than loaded.
#pragma once

#include "runtime/cuda/nccl_library.h"

extern "C" const ripeline::runtime::NcclLibrary* ripeline_nccl_library();

namespace ripeline::testing_support {

inline const runtime::NcclLibrary& fake_nccl() { return *ripeline_nccl_library(); }

}  // namespace ripeline::testing_support
