// network/socket: ranks as processes, over Unix sockets on one host and over TCP between hosts.
//
// The ranks find each other in a store (runtime/network/store.h), where each claims its number and
// names what it runs; a rank that runs something else than rank 0 is refused before it is
// connected. Each rank listens at its address and is connected with its neighbours; a connection
// opens with a hello (docs/formats.md). In the end either all ranks are connected or none: a
// failure of any rank is reported to all at once and is the status of all. Two connections join
// each pair of neighbours, one of them for short frames. The death of a neighbour is seen within
// milliseconds and named. A separate thread sends heartbeats, which also carry the process's clock,
// whatever the rank computes. Descriptors are close-on-exec, lengths are bounded before anything is
// allocated, and strangers are dropped. Frames that cross a network are not encrypted.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/configuration.h"
#include "runtime/network/buffer_pool.h"
#include "runtime/network/store.h"
#include "runtime/transport.h"

namespace ripeline::runtime {
class Termination;
}

namespace ripeline::runtime::network {

struct SocketOptions {
  int rank = 0;
  int ranks = 1;
  // The address at which the others reach this rank: `unix:/tmp/run/socket-3`, or `tcp:10.0.0.1:0`
  // with a port that the system chooses.
  std::string address = {};
  // The ranks with which this rank exchanges messages; each of them must list this rank, too. Ranks
  // next to it in the tree (runtime/protocol/tree.h) are added. If empty, all ranks.
  std::vector<int> neighbours = {};
  std::uint64_t program_hash = 0;
  Configuration configuration = {};
  std::chrono::nanoseconds connect_limit = std::chrono::seconds(30);
  std::chrono::nanoseconds hello_limit =
      std::chrono::seconds(5);  // a caller that sends nothing for this long is dropped
  std::uint64_t largest_payload = std::uint64_t{1} << 32;  // bytes; a longer frame is a violation
  // Bytes that the kernel is asked to buffer in each direction; they move even while nobody polls.
  // The kernel buffers at most net.core.wmem_max, unless the process is root's.
  int kernel_bytes = 4 << 20;
  std::chrono::nanoseconds heartbeat =
      std::chrono::milliseconds(500);  // the time between two signs of life of a rank
  // Borrowed; the start fails when the process is told to end. If null, this is not checked.
  const Termination* termination = nullptr;
};

// Connects with all neighbours once all ranks are present. The status of a failure names the ranks
// that did not join, or how they do not match. Payloads that arrive are put into `pool`, which is
// borrowed, or into the host's memory if `pool` is null.
core::Status connect_sockets(SocketOptions options, std::shared_ptr<Store> store,
                             std::unique_ptr<Transport>& transport, BufferPool* pool = nullptr);

// Does the same for the ranks of one host, whose store and sockets are in `folder`. The folder is
// for this run alone, with mode 0700, and made if missing. `options.address` is not read.
core::Status connect_in_folder(SocketOptions options, const std::string& folder,
                               std::unique_ptr<Transport>& transport, BufferPool* pool = nullptr);

}  // namespace ripeline::runtime::network
