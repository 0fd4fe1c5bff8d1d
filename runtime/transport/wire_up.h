// wire_up: connects every rank with every other, twice. Private to transport/socket.
//
// A rank listens at `folder`/socket-N and connects to the ranks below its own; both sides open with
// a hello. Strangers are dropped and the listening goes on: another user's process, another run's,
// one that breaks the format or says nothing. Then each says that it is ready, and waits until all
// are.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include <asio/io_context.hpp>

#include "runtime/transport/connection.h"
#include "runtime/transport/roster.h"
#include "runtime/transport/socket.h"

namespace ripeline::runtime {

// One connection of a rank that is wired up, and what came over it meanwhile.
struct Wire {
  std::shared_ptr<Connection> connection;
  std::deque<Frame> early;
  core::Status closed;  // why it is closed already; ok: it is not
};
// By rank and channel: `wire_of(rank, channel)`; those of the own rank are empty.
using Wires = std::vector<Wire>;
[[nodiscard]] inline std::size_t wire_of(int rank, Channel channel) {
  return static_cast<std::size_t>(rank * kChannels + static_cast<int>(channel));
}

// The rank has joined the roster. Fails by status, which the roster has told to all.
core::Status wire_up(asio::io_context& io, const SocketOptions& options, Roster& roster,
                     Place& place, Wires& wires);

}  // namespace ripeline::runtime
