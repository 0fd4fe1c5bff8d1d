// Communicators over c10d's Gloo, in the host's memory: a device's tensors are copied there and
// back, and the host waits for the copies. Only gloo_communicator.cpp includes c10d.
#pragma once

#include <string>
#include <vector>

#include "runtime/run.h"
#include "runtime/torch/communicator.h"
#include "runtime/torch/groups.h"

namespace ripeline::runtime {

// All processes of the run call this at once, through Groups::connect. `host` is the address at
// which the others reach this process.
core::Status connect_gloo(Run& run, const std::string& host, std::vector<CommunicatorPlan> plans,
                          const GroupOptions& options, Communicators& communicators);

}  // namespace ripeline::runtime
