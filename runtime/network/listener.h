// Listener: takes those that connect to a socket. Private to network/socket.
//
// A Unix socket lies at its path while the listener lives. Its handlers run inside the io_context,
// to whose thread all belongs; none runs after its end.
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

  // At an address as in address.h. Takes the place of whatever Unix socket lies there.
  core::Status open(const std::string& address, int backlog, int kernel_bytes);
  // Where it listens, with the port that it was given.
  [[nodiscard]] const Address& address() const { return address_; }
  // Calls one of them for everybody who connects, with a descriptor that is the handler's: it does
  // not block; or once with the error after which nobody can be taken.
  void accept(std::function<void(int descriptor)> on_caller,
              std::function<void(int error)> on_failure);

 private:
  void next();

  asio::posix::stream_descriptor socket_;
  Address address_;
  std::function<void(int descriptor)> on_caller_;
  std::function<void(int error)> on_failure_;
  // Handlers that are queued when this ends look here first.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace ripeline::runtime::network
