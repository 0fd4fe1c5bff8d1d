// network/ucx: the messages of data go over UCX: shared memory, TCP or a fabric, as UCX chooses.
//
// It is a transport around another one, whose peers it has. All that is short goes over that one,
// and it says who lives, is lost or has said goodbye; data and parts of gathers go over UCX, long
// ones from the sender's memory straight into the receiver's Place. If UCX fails between two
// processes that live, either is lost to the other. UCX reads its own variables: UCX_TLS says which
// of its transports it may use, UCX_NET_DEVICES on which interfaces it listens. It asks nobody who
// connects for a token, so over TCP give it an interface of a network that you trust.
//
// What a process still has queued() when it is destroyed before finish() may be lost.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "runtime/network/place.h"
#include "runtime/transport.h"

namespace ripeline::runtime {
class Termination;
}

namespace ripeline::runtime::network {

struct UcxOptions {
  std::chrono::nanoseconds connect_limit = std::chrono::seconds(30);
  std::uint64_t largest_payload = std::uint64_t{1} << 32;  // bytes; more is a violation
  // Borrowed: the start fails when the process is told to end. Null: the program sees to that.
  const Termination* termination = nullptr;
};

// Whether this Ripeline was built with UCX.
[[nodiscard]] bool has_ucx();

// Puts UCX around `transport`, which can watch a descriptor; all its processes do so at once. What
// arrives is put into `place`, which is borrowed; null: into memory of the host. Fails by status,
// on all of them: what UCX says, or which of them was not reached or lost. Then `transport` is
// null.
core::Status connect_ucx(const UcxOptions& options, std::unique_ptr<Transport>& transport,
                         Place* place = nullptr);

// The same if the environment's RIPELINE_TRANSPORT is `ucx`; unset or `sockets`, `transport` stays
// as it is. Anything else is refused.
core::Status use_chosen_transport(const UcxOptions& options, std::unique_ptr<Transport>& transport,
                                  Place* place = nullptr);

}  // namespace ripeline::runtime::network
