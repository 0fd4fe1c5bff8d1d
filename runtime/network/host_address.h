// Hosts by name and address.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace ripeline::runtime::network {

// The first host of a list in Slurm's notation: `node[03-05,07],other-1` gives node03. Empty if
// `list` has another form.
[[nodiscard]] std::string first_host(std::string_view list);

// Whether the text is a numeric address, IPv4 or IPv6.
[[nodiscard]] bool is_numeric_address(const std::string& text);

// Sets `address` to the numeric address from which this host would send to `host`, a name or an
// address. Asks the resolver, which may take seconds; sends nothing. Fails with `refused` if the
// address is a loopback address, which no other host can reach.
core::Status address_towards(const std::string& host, std::string& address);

}  // namespace ripeline::runtime::network
