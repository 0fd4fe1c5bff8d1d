// Lines over NCCL, between devices (runtime/cuda/nccl/nccl_group.h). Each line has its own
// communicator.
//
// Members of a rank enqueue their sums on the caller's current stream, where the stages' tasks are,
// and the host does not wait for them: a task ends only after its sums. Replicas reduce on a
// stream of the line, and the host waits in the thread of the reduction. A build without CUDA
// refuses.
#pragma once

#include <vector>

#include "runtime/run.h"
#include "runtime/torch/group_line.h"
#include "runtime/torch/groups.h"
#include "runtime/torch/torch_device.h"

namespace ripeline::runtime {

// All processes of the run call it at once, through Groups::connect. `library` is from find_nccl().
core::Status connect_nccl(Run& run, const TorchDevice& device, const cuda::NcclLibrary& library,
                          std::vector<LinePlan> plans, const GroupOptions& options,
                          ConnectedLines& lines);

}  // namespace ripeline::runtime
