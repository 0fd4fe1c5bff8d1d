// A name that distinguishes the system on which this process runs from all others.
#pragma once

#include <string>

namespace ripeline::runtime::network {

// Equal for all processes of one system, in any container, until the system starts anew. It is the
// id of the boot or, if that cannot be read, the host's name. Empty if neither is known.
[[nodiscard]] std::string system_name();

}  // namespace ripeline::runtime::network
