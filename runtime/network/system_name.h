// The system that this process runs on, told from all others.
#pragma once

#include <string>

namespace ripeline::runtime::network {

// Equal for processes of one system, in whatever containers they are, until it starts anew: its
// boot, or where that is not told, the host's name. Empty: neither is known.
[[nodiscard]] std::string system_name();

}  // namespace ripeline::runtime::network
