// transport/socket: the ranks of one host as processes, over Unix sockets.
//
// The ranks find each other in `folder`, a store (runtime/folder_store.h): each claims its rank and
// says what it runs; a rank that runs something else than rank 0 is refused before it is connected.
// Each listens in the folder and connects to the others; a connection opens with a hello
// (docs/formats.md). Either all are connected in the end or none: what fails meanwhile, on whatever
// rank, is told to all at once and is the status of all. Two connections lead from rank to rank,
// one of them for what is short. The death of a peer is seen within milliseconds and named; that a
// process is alive is said by a thread of its own, whatever its rank computes. Descriptors are
// close-on-exec, lengths are bounded before anything is allocated, strangers are dropped.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/configuration.h"
#include "runtime/place.h"
#include "runtime/transport/transport.h"

namespace ripeline::runtime {

class Termination;

struct SocketOptions {
  int rank = 0;
  int ranks = 1;
  std::string folder;  // of this run alone, mode 0700; made by the launcher or by the first rank
  std::uint64_t program_hash = 0;
  Configuration configuration = {};
  std::chrono::nanoseconds connect_limit = std::chrono::seconds(30);
  std::chrono::nanoseconds hello_limit =
      std::chrono::seconds(5);  // a caller that says nothing for so long is dropped
  std::uint64_t largest_payload = std::uint64_t{1} << 32;  // bytes; a longer frame is a violation
  // What the kernel is asked to hold in each direction: what is in it moves while nobody looks. It
  // gives no more than net.core.wmem_max, unless the process is root's.
  int kernel_bytes = 4 << 20;
  std::chrono::nanoseconds heartbeat =
      std::chrono::milliseconds(500);  // after which each rank says again
                                       // that it is alive
  // Borrowed: the start fails when the process is told to end. Null: the program sees to that.
  const Termination* termination = nullptr;
};

// Connects to all other ranks. Fails by status: which ranks did not come, or how they do not fit.
// What arrives is put into `place`, which is borrowed; null: into memory of the host.
core::Status connect_sockets(const SocketOptions& options, std::unique_ptr<Transport>& transport,
                             Place* place = nullptr);

}  // namespace ripeline::runtime
