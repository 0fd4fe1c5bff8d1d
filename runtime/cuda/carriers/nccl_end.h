// NcclEnd: what one end of an edge launches next, without I/O.
//
// An edge is a directed pair of ranks with a communicator of two ranks and a stream of its own. A
// send of NCCL and its receive occupy their devices until both are there, and what waits there can
// keep from starting what it waits for. So an end launches only what can start, one at a time, in
// the order of numbers, which both ends count from 0:
//
//   at the sender     ready(k): the host has seen that the data of message k are complete
//                     launch() is k: launch its send, then announce k to the peer
//   at the receiver   ready(k): the peer has announced message k
//                     launch() is k: launch its receive, at once
//   at both           ended(): the host has seen the end of what is under way; then launch() again
//
// The machine does not see what must also hold of its caller. Each is needed: without it there are
// runs that stick (tests/nccl/edge_states_test.cpp).
//   - no two edges share a communicator, or resources of one (splitShare)
//   - the kernels of all edges of a device fit on it beside each other
//   - no call that waits for the whole device while under_way() is set
//   - the end is that of the kernel: blocking communicators, and an event recorded after the call
//   - the two ends are connected before the first step
//
// Refuses, by status, a number that is not the next, and an end of nothing. A value; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "core/status.h"

namespace ripeline::runtime {

class NcclEnd {
 public:
  core::Status ready(std::uint64_t number);
  // Says each number once.
  std::optional<std::uint64_t> launch();
  core::Status ended();

  [[nodiscard]] std::optional<std::uint64_t> under_way() const;
  // The number of messages; when nothing is under way the two ends of an edge must have the same.
  [[nodiscard]] std::uint64_t launched() const { return launched_; }

  bool operator==(const NcclEnd&) const = default;

 private:
  std::uint64_t ready_ = 0;
  std::uint64_t launched_ = 0;
  std::uint64_t ended_ = 0;
};

}  // namespace ripeline::runtime
