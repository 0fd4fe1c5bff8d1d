// Hosts by name and address.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace ripeline::runtime::network {

// The first host of a list as Slurm writes it: node03 of `node[03-05,07],other-1`. Empty: it is not
// such a list.
[[nodiscard]] std::string first_host(std::string_view list);

// An address as numbers, IPv4 or IPv6.
[[nodiscard]] bool is_numeric_address(const std::string& text);

// The address, as numbers, that this host has for `host`, a name or an address: the one of its own
// from which it would send something there. Asks the resolver, which may take seconds; sends
// nothing. `refused` when that is a loopback address, which no other host can reach.
core::Status address_towards(const std::string& host, std::string& address);

}  // namespace ripeline::runtime::network
