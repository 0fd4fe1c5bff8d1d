// wire_up: connects a rank with its neighbours, once for each role. Private to network/socket.
//
// A rank listens at its address and connects to its neighbours of lower rank (introductions.h).
// Then each subtree of the ranks (runtime/protocol/tree.h) reports upwards when it is connected,
// and rank 0 reports downwards when all ranks are; these frames also carry the run's clock.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include <asio/io_context.hpp>

#include "runtime/network/connection.h"
#include "runtime/network/roster.h"
#include "runtime/network/run_clock.h"
#include "runtime/network/socket.h"

namespace ripeline::runtime::network {

// One connection of a rank that is being wired up, and the frames that have arrived meanwhile.
struct Wire {
  std::shared_ptr<Connection> connection;
  std::deque<Frame> early;
  core::Status closed;  // why the connection is closed; ok while it is open
};
// Indexed by `wire_of(rank, role)`; the wires of ranks that are no neighbours are empty.
using Wires = std::vector<Wire>;
[[nodiscard]] inline std::size_t wire_of(int rank, ConnectionRole role) {
  return static_cast<std::size_t>(rank * kConnectionsPerPeer + static_cast<int>(role));
}

// Decides when a peer with two connections is lost. Its last frames may arrive over either one. So
// once one connection has ended, this rank waits for the end of the other, but only for a while,
// since a network may end just one of them.
class Ending {
 public:
  // Notes why one connection ended. Returns when the peer is lost if the other one does not end.
  [[nodiscard]] core::Time lost_at(const core::Status& why, core::Time now) {
    const bool is_over = why.code() != core::StatusCode::lost || ++ended_ == kConnectionsPerPeer;
    return is_over ? now : now + kLastWords;
  }

 private:
  static constexpr std::chrono::seconds kLastWords{1};
  int ended_ = 0;
};

// Called once the rank has joined the roster. On failure the roster has told all ranks the reason.
core::Status wire_up(asio::io_context& io, const SocketOptions& options, Roster& roster,
                     BufferPool& pool, RunClock& clock, Wires& wires);

}  // namespace ripeline::runtime::network
