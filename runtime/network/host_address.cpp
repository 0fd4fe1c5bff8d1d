#include "runtime/network/host_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace ripeline::runtime::network {
namespace {

using core::Status;
using core::StatusCode;

bool is_loopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return ntohl(v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

// Finds the address from which this host would send a datagram to `where`.
bool own_address(const addrinfo& where, sockaddr_storage& own) {
  const int descriptor = socket(where.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, where.ai_protocol);
  if (descriptor < 0) return false;
  socklen_t size = sizeof own;
  const bool is_known = connect(descriptor, where.ai_addr, where.ai_addrlen) == 0 &&
                        getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  const int error = errno;
  close(descriptor);
  errno = error;
  return is_known;
}

std::string text_of(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes =
      address.ss_family == AF_INET
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr)
          : &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  inet_ntop(address.ss_family, bytes, text.data(), text.size());
  return text.data();
}

}  // namespace

std::string first_host(std::string_view list) {
  std::string host;
  while (!list.empty() && list.front() != ',') {
    const std::size_t open = list.find_first_of("[],");
    host += list.substr(0, open);
    if (open == std::string_view::npos) break;
    list.remove_prefix(open);
    if (list.front() == ',') break;
    const std::size_t close = list.find(']');
    if (list.front() == ']' || close == std::string_view::npos) return {};
    const std::size_t end = list.find_first_of("-,]");
    if (end == 1) return {};
    host += list.substr(1, end - 1);
    list.remove_prefix(close + 1);
  }
  return host;
}

bool is_numeric_address(const std::string& text) {
  in6_addr ignored{};
  return inet_pton(AF_INET, text.c_str(), &ignored) == 1 ||
         inet_pton(AF_INET6, text.c_str(), &ignored) == 1;
}

Status address_towards(const std::string& host, std::string& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* all = nullptr;
  // Any port will do, since nothing is sent.
  if (const int error = getaddrinfo(host.c_str(), "9", &hints, &all); error != 0) {
    return {StatusCode::failed, "host " + host + " cannot be found: " + gai_strerror(error)};
  }
  Status status(StatusCode::failed, "host " + host + " has no address");
  for (const addrinfo* one = all; one != nullptr; one = one->ai_next) {
    sockaddr_storage own{};
    if (!own_address(*one, own)) {
      status = {StatusCode::failed, "host " + host + " cannot be reached: " + std::strerror(errno)};
    } else if (is_loopback(own)) {
      status = {StatusCode::refused, "this host would reach " + host + " from " + text_of(own) +
                                         ", where no other host can reach it"};
    } else {
      address = text_of(own);
      status = {};
      break;
    }
  }
  freeaddrinfo(all);
  return status;
}

}  // namespace ripeline::runtime::network
