// network/local: the ranks of one process as threads.
//
// make_local_group(n) makes n transports that are connected with each other; give one to each
// thread. If a transport is destroyed before finish(), its rank is lost to the others.
#pragma once

#include <memory>
#include <vector>

#include "runtime/transport.h"

namespace ripeline::runtime::network {

[[nodiscard]] std::vector<std::unique_ptr<Transport>> make_local_group(int ranks);

}  // namespace ripeline::runtime::network
