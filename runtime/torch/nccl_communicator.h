// Communicators over NCCL, between devices; each has an NcclGroup (runtime/cuda/nccl/nccl_group.h).
//
// Members of a rank enqueue their sums on the caller's current stream, which runs the stages'
// tasks, and the host does not wait for them: a task ends only after its sums. Replicas reduce on
// the communicator's stream, and the host waits in the reduction's thread. Refused without CUDA.
#pragma once

#include <vector>

#include "runtime/run.h"
#include "runtime/torch/communicator.h"
#include "runtime/torch/groups.h"
#include "runtime/torch/torch_device.h"

namespace ripeline::runtime {

// All processes call this at once, through Groups::connect. `library` is from find_nccl().
core::Status connect_nccl(Run& run, const TorchDevice& device, const cuda::NcclLibrary& library,
                          std::vector<CommunicatorPlan> plans, const GroupOptions& options,
                          Communicators& communicators);

}  // namespace ripeline::runtime
