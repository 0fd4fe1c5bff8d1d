// wire_up: connects a rank with its neighbours, twice. Private to network/socket.
//
// A rank listens at its address and connects to those of its neighbours that are below its own
// (introductions.h). That a subtree of the ranks (runtime/process/tree.h) is connected then goes up
// to rank 0, and that all are comes down again; with it goes the run's clock.
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

// One connection of a rank that is wired up, and what came over it meanwhile.
struct Wire {
  std::shared_ptr<Connection> connection;
  std::deque<Frame> early;
  core::Status closed;  // why it is closed already; ok: it is not
};
// By rank and channel: `wire_of(rank, channel)`; those of ranks that are no neighbours are empty.
using Wires = std::vector<Wire>;
[[nodiscard]] inline std::size_t wire_of(int rank, Channel channel) {
  return static_cast<std::size_t>(rank * kChannels + static_cast<int>(channel));
}

// How a rank ends with which there are two connections. Either may be the one over which its last
// words come: who sees the end of one waits for that of the other, but not for ever, since a
// network may end one alone.
class Ending {
 public:
  // One has ended for `why`. When the rank is lost, unless the other one ends before.
  [[nodiscard]] core::Time lost_at(const core::Status& why, core::Time now) {
    const bool is_over = why.code() != core::StatusCode::lost || ++ended_ == kChannels;
    return is_over ? now : now + kLastWords;
  }

 private:
  static constexpr std::chrono::seconds kLastWords{1};
  int ended_ = 0;
};

// The rank has joined the roster. Fails by status, which the roster has told to all.
core::Status wire_up(asio::io_context& io, const SocketOptions& options, Roster& roster,
                     Place& place, RunClock& clock, Wires& wires);

}  // namespace ripeline::runtime::network
