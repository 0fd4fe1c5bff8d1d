// Introductions: while the ranks connect, the two ends of each connection tell each other which
// ranks they are. Private to network/socket.
//
// The caller sends a hello, and the rank that is called answers with a hello. A stranger is
// dropped: a process of another user or run, one that breaks the format, or a caller that sends
// nothing. A rank that does not answer, or does not listen yet, is called again. The io_context's
// thread does all work; the handlers are not called after this object's end, and must not end it.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/network/connection.h"
#include "runtime/network/roster.h"
#include "runtime/network/socket.h"
#include "runtime/network/timers.h"

namespace ripeline::runtime::network {

// A connection as one end knows it: the rank at the other end, and the connection's role.
struct End {
  int rank = -1;
  ConnectionRole role = ConnectionRole::data;
};

// The status of a rank that cannot do `what`, because a call of the system failed with `error`.
[[nodiscard]] core::Status refused_by_system(int rank, const std::string& what, int error);

class Introductions {
 public:
  struct Handlers {
    // Whether this rank needs the connection but does not have it yet.
    std::function<bool(End)> is_missing;
    // Called when both ends of the connection have said hello.
    std::function<void(End, std::shared_ptr<Connection>)> on_met;
    // Called when this process cannot connect at all, with the reason.
    std::function<void(core::Status)> on_failed;
  };
  // All references are borrowed. The roster must have the run's token before any call.
  Introductions(asio::io_context& io, const SocketOptions& options, const Roster& roster,
                BufferPool& pool, Handlers handlers);
  ~Introductions();
  Introductions(const Introductions&) = delete;
  Introductions& operator=(const Introductions&) = delete;

  // Connects to the rank, which listens at `address`, twice: once for each role of a connection.
  void call(int rank, const std::string& address);
  // Takes ownership of a connection that another process has made, given by its descriptor.
  void called(int descriptor);

  // The result of the last call to the first of `ranks` that was called at all; empty if none was.
  [[nodiscard]] std::string last_call(const std::vector<int>& ranks) const;
  // Makes a frame from this rank.
  [[nodiscard]] Frame frame(FrameContent content, Payload payload = {}) const;

 private:
  [[nodiscard]] Frame hello(ConnectionRole role) const;
  [[nodiscard]] std::shared_ptr<Connection> connection_of(int descriptor);
  void connect(End end, const std::string& address);
  void call_again(End end, const std::string& address);
  void await_hello(const std::shared_ptr<Connection>& connection, End expected,
                   const std::string& address);
  void drop(const std::weak_ptr<Connection>& connection, End expected, const std::string& address,
            const std::string& why);
  // False if the first frame comes from a stranger.
  bool greet(const std::shared_ptr<Connection>& connection, End expected, const Frame& first);
  void note(End end, const std::string& address, const std::string& how);

  asio::io_context& io_;
  const SocketOptions& options_;
  const Roster& roster_;
  BufferPool& pool_;
  const Handlers handlers_;
  std::vector<std::shared_ptr<Connection>> pending_;  // the peers of these have not said hello
  std::map<int, std::string> calls_;                  // the result of the last call, by rank
  Timers timers_;
};

}  // namespace ripeline::runtime::network
