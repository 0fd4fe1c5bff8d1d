#include "runtime/network/system_name.h"

#include <unistd.h>

#include <array>
#include <fstream>

namespace ripeline::runtime::network {

std::string system_name() {
  std::string name;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> name;
  if (!name.empty()) return name;
  std::array<char, 256> host{};
  return gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "";
}

}  // namespace ripeline::runtime::network
