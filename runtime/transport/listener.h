// Listener: takes those that connect to a Unix socket. Private to transport/socket.
//
// The socket lies at its path while the listener lives. Its handlers run inside the io_context, to
// whose thread all belongs; none runs after its end.
#pragma once

#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <functional>
#include <memory>
#include <string>

#include "core/status.h"

namespace ripeline::runtime {

class Listener {
 public:
  Listener(asio::io_context& io, std::string path);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Takes the place of whatever socket lies there.
  core::Status open(int backlog, int kernel_bytes);
  // Calls one of them for everybody who connects, with a descriptor that is the handler's: it does
  // not block; or once with the error after which nobody can be taken.
  void accept(std::function<void(int descriptor)> on_caller,
              std::function<void(int error)> on_failure);

 private:
  void next();

  const std::string path_;
  asio::local::stream_protocol::acceptor acceptor_;
  std::function<void(int descriptor)> on_caller_;
  std::function<void(int error)> on_failure_;
  // Handlers that are queued when this ends look here first.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace ripeline::runtime
