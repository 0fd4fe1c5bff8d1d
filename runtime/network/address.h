// Addresses at which a process listens: `unix:/tmp/run/socket-3`, `tcp:10.0.0.1:4567`,
// `tcp:[fd00::1]:4567`. Hosts and ports are numbers; the system replaces port 0 by a free port.
// Private to network/socket.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>

#include "core/status.h"

namespace ripeline::runtime::network {

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  [[nodiscard]] int family() const { return storage.ss_family; }
  [[nodiscard]] bool is_of_host() const { return family() == AF_UNIX; }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// Fails with a status that names what was expected.
core::Status parse_address(std::string_view text, Address& address);
[[nodiscard]] std::string print_address(const Address& address);
// The path of a Unix socket; empty for an address of another kind.
[[nodiscard]] std::string path_of(const Address& address);

}  // namespace ripeline::runtime::network
