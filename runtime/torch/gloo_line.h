// Lines over c10d's Gloo, in the host's memory: tensors of a device are copied there and back, for
// which the host waits. Each has a communicator of its own. Only gloo_line.cpp sees c10d.
#pragma once

#include <string>
#include <vector>

#include "runtime/run.h"
#include "runtime/torch/group_line.h"
#include "runtime/torch/groups.h"

namespace ripeline::runtime {

// All processes of the run call it at once, by Groups::connect. `host`: by which the others reach
// this one.
core::Status connect_gloo(Run& run, const std::string& host, std::vector<LinePlan> plans,
                          const GroupOptions& options, ConnectedLines& lines);

}  // namespace ripeline::runtime
