// network/local: the ranks of one process as threads.
//
// make_local_group(n) gives n transports that belong together; give one to each thread. A transport
// that is destroyed before finish() is a lost rank to the others.
#pragma once

#include <memory>
#include <vector>

#include "runtime/transport.h"

namespace ripeline::runtime::network {

[[nodiscard]] std::vector<std::unique_ptr<Transport>> make_local_group(int ranks);

}  // namespace ripeline::runtime::network
