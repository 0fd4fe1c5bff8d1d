// Addresses at which a process listens: `unix:/tmp/run/socket-3`, `tcp:10.0.0.1:4567`,
// `tcp:[fd00::1]:4567`. Those of the network are numbers, and port 0 is one that the system
// chooses. Private to network/socket.
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

// Refuses by status, with what was expected.
core::Status parse_address(std::string_view text, Address& address);
[[nodiscard]] std::string print_address(const Address& address);
// The path of a Unix socket; empty for another address.
[[nodiscard]] std::string path_of(const Address& address);

}  // namespace ripeline::runtime::network
