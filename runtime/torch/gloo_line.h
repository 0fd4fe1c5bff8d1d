// Lines over c10d's Gloo, in the host's memory: a device's tensors are copied there and back, and
// the host waits for that. Each line has its own communicator. Only gloo_line.cpp sees c10d.
#pragma once

#include <string>
#include <vector>

#include "runtime/run.h"
#include "runtime/torch/group_line.h"
#include "runtime/torch/groups.h"

namespace ripeline::runtime {

// All processes of the run call it at once, through Groups::connect. `host` is the address at which
// the others reach this process.
core::Status connect_gloo(Run& run, const std::string& host, std::vector<LinePlan> plans,
                          const GroupOptions& options, ConnectedLines& lines);

}  // namespace ripeline::runtime
