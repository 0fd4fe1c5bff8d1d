#include "runtime/transport/listener.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "runtime/transport/connection.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;

// The accepted connection went away, or a packet filter did not like it: others may come.
bool is_of_caller(int error) {
  return error == EAGAIN || error == EINTR || error == ECONNABORTED || error == EPROTO ||
         error == EPERM;
}

}  // namespace

Listener::Listener(asio::io_context& io, std::string path)
    : path_(std::move(path)), acceptor_(io) {}

Listener::~Listener() {
  *alive_ = false;
  asio::error_code ignored;
  if (acceptor_.is_open()) unlink(path_.c_str());
  acceptor_.close(ignored);
}

Status Listener::open(int backlog, int kernel_bytes) {
  if (path_.size() >= sizeof(sockaddr_un::sun_path)) {
    return {StatusCode::invalid, path_ + ": too long for the path of a Unix socket"};
  }
  unlink(path_.c_str());
  asio::error_code error;
  acceptor_.open(asio::local::stream_protocol(), error);
  if (!error) prepare_socket(acceptor_.native_handle(), kernel_bytes);
  if (!error) acceptor_.bind({path_}, error);
  if (!error) acceptor_.listen(backlog, error);
  return error ? Status(StatusCode::failed, path_ + ": " + error.message()) : Status();
}

void Listener::accept(std::function<void(int descriptor)> on_caller,
                      std::function<void(int error)> on_failure) {
  on_caller_ = std::move(on_caller);
  on_failure_ = std::move(on_failure);
  next();
}

// Not async_accept(): its descriptors are close-on-exec only later, and a program that another
// thread starts in between would keep the connection alive.
void Listener::next() {
  acceptor_.async_wait(acceptor_.wait_read, [this, alive = alive_](asio::error_code error) {
    if (!*alive || error) return;
    const int descriptor =
        accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor < 0 && !is_of_caller(errno)) return on_failure_(errno);
    if (descriptor >= 0) on_caller_(descriptor);
    next();
  });
}

}  // namespace ripeline::runtime
