#include "runtime/network/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>

namespace ripeline::runtime::network {
namespace {

using core::Status;
using core::StatusCode;

constexpr std::string_view kUnix = "unix:";
constexpr std::string_view kTcp = "tcp:";

template <class T>
T& as(Address& address) {
  address.size = sizeof(T);
  return reinterpret_cast<T&>(address.storage);
}
template <class T>
const T& as(const Address& address) {
  return reinterpret_cast<const T&>(address.storage);
}

Status parse_path(std::string_view path, Address& address) {
  auto& at = as<sockaddr_un>(address);
  if (path.empty()) return {StatusCode::invalid, "unix: expected a path"};
  if (path.size() >= sizeof at.sun_path) {
    return {StatusCode::invalid, std::string(path) + ": too long for the path of a Unix socket"};
  }
  at.sun_family = AF_UNIX;
  path.copy(at.sun_path, path.size());
  return {};
}

// False if `host` is not numeric: neither an IPv4 address nor an IPv6 address in brackets.
bool parse_host(std::string_view host, std::uint16_t port, Address& address) {
  if (host.starts_with('[') && host.ends_with(']')) {
    auto& at = as<sockaddr_in6>(address);
    at.sin6_family = AF_INET6;
    at.sin6_port = htons(port);
    return inet_pton(AF_INET6, std::string(host.substr(1, host.size() - 2)).c_str(),
                     &at.sin6_addr) == 1;
  }
  auto& at = as<sockaddr_in>(address);
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  return inet_pton(AF_INET, std::string(host).c_str(), &at.sin_addr) == 1;
}

}  // namespace

Status parse_address(std::string_view text, Address& address) {
  address = {};
  if (text.starts_with(kUnix)) return parse_path(text.substr(kUnix.size()), address);
  const Status refused(StatusCode::invalid,
                       "'" + std::string(text) +
                           "': expected the address of a socket, unix:PATH or tcp:HOST:PORT with "
                           "numbers, as tcp:10.0.0.1:0 or tcp:[fd00::1]:0");
  const std::size_t colon = text.rfind(':');
  if (!text.starts_with(kTcp) || colon < kTcp.size()) return refused;
  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || end != digits.data() + digits.size()) return refused;
  if (!parse_host(text.substr(kTcp.size(), colon - kTcp.size()), port, address)) return refused;
  return {};
}

std::string print_address(const Address& address) {
  if (address.is_of_host()) return std::string(kUnix) + path_of(address);
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (address.family() == AF_INET6) {
    const auto& at = as<sockaddr_in6>(address);
    inet_ntop(AF_INET6, &at.sin6_addr, host.data(), host.size());
    return std::string(kTcp) + "[" + host.data() + "]:" + std::to_string(ntohs(at.sin6_port));
  }
  const auto& at = as<sockaddr_in>(address);
  inet_ntop(AF_INET, &at.sin_addr, host.data(), host.size());
  return std::string(kTcp) + host.data() + ":" + std::to_string(ntohs(at.sin_port));
}

std::string path_of(const Address& address) {
  return address.is_of_host() ? as<sockaddr_un>(address).sun_path : std::string();
}

}  // namespace ripeline::runtime::network
