#include "runtime/network/listener.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/network/connection.h"

namespace ripeline::runtime::network {
namespace {

using core::Status;
using core::StatusCode;

// Whether only one caller failed, or a packet filter refused it, so that others may still connect.
bool is_of_caller(int error) {
  return error == EAGAIN || error == EINTR || error == ECONNABORTED || error == EPROTO ||
         error == EPERM || error == ENETDOWN || error == EHOSTUNREACH || error == ENETUNREACH;
}

}  // namespace

Listener::~Listener() {
  *alive_ = false;
  asio::error_code ignored;
  if (socket_.is_open() && address_.is_of_host()) unlink(path_of(address_).c_str());
  socket_.close(ignored);
}

Status Listener::open(const std::string& address, int backlog, int kernel_bytes) {
  if (Status s = parse_address(address, address_); !s.ok()) return s;
  const int descriptor = socket(address_.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const auto failed = [&] {
    return Status(StatusCode::failed, address + ": " + std::strerror(errno));
  };
  if (descriptor < 0) return failed();
  socket_.assign(descriptor);
  prepare_socket(descriptor, kernel_bytes);
  if (address_.is_of_host()) unlink(path_of(address_).c_str());
  if (bind(descriptor, address_.get(), address_.size) != 0) return failed();
  if (listen(descriptor, backlog) != 0) return failed();
  if (address_.is_of_host()) return {};
  address_.size = sizeof address_.storage;
  auto* const to = reinterpret_cast<sockaddr*>(&address_.storage);
  return getsockname(descriptor, to, &address_.size) == 0 ? Status() : failed();
}

void Listener::accept(std::function<void(int descriptor)> on_caller,
                      std::function<void(int error)> on_failure) {
  on_caller_ = std::move(on_caller);
  on_failure_ = std::move(on_failure);
  next();
}

// This is not async_accept(), whose descriptors become close-on-exec only later: a program that
// another thread starts in between would keep the connection open.
void Listener::next() {
  socket_.async_wait(socket_.wait_read, [this, alive = alive_](asio::error_code error) {
    if (!*alive || error) return;
    const int descriptor =
        accept4(socket_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor < 0 && !is_of_caller(errno)) return on_failure_(errno);
    if (descriptor >= 0) on_caller_(descriptor);
    next();
  });
}

}  // namespace ripeline::runtime::network
