// Introductions: connections whose two ends tell each other which ranks they are, while the ranks
// connect. Private to network/socket.
//
// Who calls says hello, and who is called answers with one. A stranger is dropped: another user's
// process, another run's, one that breaks the format, or one that calls and says nothing. Who does
// not answer, or is not there, is called again. It works inside the io_context, to whose thread all
// belongs; its handlers are not called after its end, and must not end it.
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

// A connection as one of its ends knows it: who is at the other one, and what goes over it.
struct End {
  int rank = -1;
  Channel channel = Channel::data;
};

// The status of a rank that is to do `what`, and is refused by the system.
[[nodiscard]] core::Status refused_by_system(int rank, const std::string& what, int error);

class Introductions {
 public:
  struct Handlers {
    // Whether the connection is one that this rank has to have, and has not.
    std::function<bool(End)> is_missing;
    // The one at the other end has said hello, and this one, too.
    std::function<void(End, std::shared_ptr<Connection>)> on_met;
    // This process cannot go on.
    std::function<void(core::Status)> on_failed;
  };
  // All are borrowed. The roster has the run's token before anybody calls.
  Introductions(asio::io_context& io, const SocketOptions& options, const Roster& roster,
                Place& place, Handlers handlers);
  ~Introductions();
  Introductions(const Introductions&) = delete;
  Introductions& operator=(const Introductions&) = delete;

  // Calls the rank, which listens there, for each of the two connections.
  void call(int rank, const std::string& address);
  // Somebody has called; takes the descriptor over.
  void called(int descriptor);

  // The result of the last call to the first of these ranks that was called; empty: none was.
  [[nodiscard]] std::string last_call(const std::vector<int>& ranks) const;
  // A frame of this rank.
  [[nodiscard]] Frame frame(FrameContent content, Payload payload = {}) const;

 private:
  [[nodiscard]] Frame hello(Channel channel) const;
  [[nodiscard]] std::shared_ptr<Connection> connection_of(int descriptor);
  void connect(End end, const std::string& address);
  void call_again(End end, const std::string& address);
  void await_hello(const std::shared_ptr<Connection>& connection, End expected,
                   const std::string& address);
  void drop(const std::weak_ptr<Connection>& connection, End expected, const std::string& address,
            const std::string& why);
  // False: a stranger.
  bool greet(const std::shared_ptr<Connection>& connection, End expected, const Frame& first);
  void note(End end, const std::string& address, const std::string& how);

  asio::io_context& io_;
  const SocketOptions& options_;
  const Roster& roster_;
  Place& place_;
  const Handlers handlers_;
  std::vector<std::shared_ptr<Connection>> pending_;  // have not said hello
  std::map<int, std::string> calls_;                  // by rank: the result of the last one
  Timers timers_;
};

}  // namespace ripeline::runtime::network
