// Listener: accepts the connections to one listening socket. Private to network/socket.
//
// The file of a Unix socket exists while the listener does. The listener belongs to the thread of
// the io_context, in which the handlers run; none runs after the listener's end.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "core/status.h"
#include "runtime/network/address.h"

namespace ripeline::runtime::network {

class Listener {
 public:
  explicit Listener(asio::io_context& io) : socket_(io) {}
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Listens at an address as in address.h. Replaces any file at the path of a Unix socket.
  core::Status open(const std::string& address, int backlog, int kernel_bytes);
  // The address at which it listens, with the port that the system has chosen.
  [[nodiscard]] const Address& address() const { return address_; }
  // Calls `on_caller` for each connection, with a non-blocking descriptor that the handler then
  // owns. Calls `on_failure` once, with the error after which no connection can be accepted.
  void accept(std::function<void(int descriptor)> on_caller,
              std::function<void(int error)> on_failure);

 private:
  void next();

  asio::posix::stream_descriptor socket_;
  Address address_;
  std::function<void(int descriptor)> on_caller_;
  std::function<void(int error)> on_failure_;
  // Handlers still queued when this object ends check this first.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace ripeline::runtime::network
