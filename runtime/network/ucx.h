// network/ucx: data messages go over UCX, by shared memory, TCP or a fabric, as UCX chooses.
//
// The transport wraps another one, with the same peers. All short frames go over the inner one,
// which also reports which peers live, are lost or have said goodbye. Data and parts of gathers go
// over UCX, long ones from the sender's memory straight into the receiver's BufferPool. If UCX
// fails between two live processes, each is lost to the other. UCX reads its own variables: UCX_TLS
// names the transports to use, UCX_NET_DEVICES the interfaces on which to listen. UCX accepts
// connections without a token, so over TCP choose an interface of a network that you trust.
//
// Bytes that are still queued() when the transport is destroyed before finish() may be lost.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "runtime/network/buffer_pool.h"
#include "runtime/transport.h"

namespace ripeline::runtime {
class Termination;
}

namespace ripeline::runtime::network {

struct UcxOptions {
  std::chrono::nanoseconds connect_limit = std::chrono::seconds(30);
  std::uint64_t largest_payload = std::uint64_t{1} << 32;  // bytes; a longer payload is a violation
  // Borrowed; the start fails when the process is told to end. If null, this is not checked.
  const Termination* termination = nullptr;
};

// Whether this Ripeline was built with UCX.
[[nodiscard]] bool has_ucx();

// Wraps `transport`, which can watch a descriptor, in UCX; all processes must do so at once. `pool`
// is borrowed; payloads that arrive are put into it, or into the host's memory if it is null. A
// failure is the status of all processes: UCX's error, or which process was not reached or was
// lost. Then `transport` is null.
core::Status connect_ucx(const UcxOptions& options, std::unique_ptr<Transport>& transport,
                         BufferPool* pool = nullptr);

// Does the same if RIPELINE_TRANSPORT in the environment is `ucx`. If RIPELINE_TRANSPORT is unset,
// empty or `sockets`, `transport` stays as it is; any other value is refused.
core::Status use_chosen_transport(const UcxOptions& options, std::unique_ptr<Transport>& transport,
                                  BufferPool* pool = nullptr);

}  // namespace ripeline::runtime::network
