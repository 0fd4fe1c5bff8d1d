// NcclEnd: decides what one end of an edge launches next, without I/O.
//
// An edge is a directed pair of ranks with a communicator of two ranks and a stream of its own. A
// send of NCCL and its receive occupy their devices until both run, and while one waits, the other
// may be unable to start. So an end launches only operations that can start, one at a time, in the
// order of their numbers, which both ends count from 0:
//
//   at the sender     ready(k): the host has seen that the data of message k are complete
//                     launch() is k: launch its send, then announce k to the peer
//   at the receiver   ready(k): the peer has announced message k
//                     launch() is k: launch its receive, at once
//   at both           ended(): the host has seen the operation's end; then launch() again
//
// This class cannot check the following rules, which its caller must keep. If any one of them is
// broken, a run can get stuck (tests/nccl/edge_states_test.cpp).
//   - no two edges share a communicator, or resources of one (splitShare)
//   - the kernels of all edges of a device fit on the device side by side
//   - no call that waits for the whole device is made while under_way() is set
//   - ended() follows the kernel's end: communicators are blocking, the event follows the call
//   - the two ends are connected before the first step
//
// A number other than the next is refused, and so is an end when nothing runs. A value; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "core/status.h"

namespace ripeline::runtime::cuda {

class NcclEnd {
 public:
  core::Status ready(std::uint64_t number);
  // Returns the number to launch now, each number once; nullopt if none may be launched now.
  std::optional<std::uint64_t> launch();
  core::Status ended();

  [[nodiscard]] std::optional<std::uint64_t> under_way() const;
  // The number of launches; when nothing is under way, it must be the same at both ends of an edge.
  [[nodiscard]] std::uint64_t launched() const { return launched_; }

  bool operator==(const NcclEnd&) const = default;

 private:
  std::uint64_t ready_ = 0;
  std::uint64_t launched_ = 0;
  std::uint64_t ended_ = 0;
};

}  // namespace ripeline::runtime::cuda
