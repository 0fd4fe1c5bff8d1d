// network/socket: ranks as processes, over Unix sockets on one host and over TCP between hosts.
//
// The ranks find each other in a store (runtime/network/store.h): each claims its rank and says
// what it runs; a rank that runs something else than rank 0 is refused before it is connected. Each
// listens at its address and is connected with its neighbours; a connection opens with a hello
// (docs/formats.md). Either all are connected in the end or none: what fails meanwhile, on whatever
// rank, is told to all at once and is the status of all. Two connections lead from rank to rank,
// one of them for what is short. The death of a neighbour is seen within milliseconds and named;
// that a process is alive is said by a thread of its own, whatever its rank computes, and with it
// what its clock shows. Descriptors are close-on-exec, lengths are bounded before anything is
// allocated, strangers are dropped. What goes over a network is not encrypted.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/configuration.h"
#include "runtime/network/place.h"
#include "runtime/network/store.h"
#include "runtime/transport.h"

namespace ripeline::runtime {
class Termination;
}

namespace ripeline::runtime::network {

struct SocketOptions {
  int rank = 0;
  int ranks = 1;
  // Where the others reach this rank: `unix:/tmp/run/socket-3`, or `tcp:10.0.0.1:0` with a port
  // that the system chooses.
  std::string address = {};
  // Those that it sends to or hears from, which must have it among theirs, besides those that are
  // next to it in the tree (runtime/process/tree.h). Empty: all.
  std::vector<int> neighbours = {};
  std::uint64_t program_hash = 0;
  Configuration configuration = {};
  std::chrono::nanoseconds connect_limit = std::chrono::seconds(30);
  std::chrono::nanoseconds hello_limit =
      std::chrono::seconds(5);  // a caller that says nothing for so long is dropped
  std::uint64_t largest_payload = std::uint64_t{1} << 32;  // bytes; a longer frame is a violation
  // Bytes that the kernel is asked to hold in each direction: these move while nobody polls. It
  // gives no more than net.core.wmem_max, unless the process is root's.
  int kernel_bytes = 4 << 20;
  std::chrono::nanoseconds heartbeat =
      std::chrono::milliseconds(500);  // after which each rank says again that it is alive
  // Borrowed: the start fails when the process is told to end. Null: the program sees to that.
  const Termination* termination = nullptr;
};

// Connects with all neighbours when all ranks are there. Fails by status: which ranks did not come,
// or how they do not fit. What arrives is put into `place`, which is borrowed; null: into memory of
// the host.
core::Status connect_sockets(SocketOptions options, std::shared_ptr<Store> store,
                             std::unique_ptr<Transport>& transport, Place* place = nullptr);

// The same for the ranks of one host: their store and their sockets are in `folder`, which is of
// this run alone, mode 0700; made if it is not there. `options.address` is not read.
core::Status connect_in_folder(SocketOptions options, const std::string& folder,
                               std::unique_ptr<Transport>& transport, Place* place = nullptr);

}  // namespace ripeline::runtime::network
