// A fake of libnccl on the fake device, which tests link instead of the real one: ranks are threads
// of this process, or take turns in one thread.
//
// The rules, each with its source in NCCL 2.28.9:
//   - the n-th send to a rank is the n-th receive there, by communicator:
//     enqueue.cc, scheduleP2pTasksToPlan
//   - a send is a rendezvous, unless it fits in buffers: docs, p2p; Options::credits
//   - each set of resources runs one kernel at a time, in the order of their launch:
//     enqueue.cc, ncclLaunchPrepare, ncclLaunchFinish
//   - a communicator that is split from one made with splitShare has the parent's resources:
//     init.cc, commAlloc
//   - the first send or receive with a rank connects inside the call, and both ends must be in it:
//     enqueue.cc, p2pTaskAppend; group.cc, ncclGroupCommPreconnect
//   - a group's calls on one communicator are one kernel, collectives before sends and receives,
//     and its streams are joined: enqueue.cc, ncclLaunchPrepare
//   - communicators of a group are launched by ascending hash: group.h, ncclGroupCommJoin
//   - with blocking = 0 a thread launches, and the call returns "in progress"; until polled, the
//     next call fails: group.cc, ncclGroupEndInternal; init.cc, ncclCommEnsureReady
//   - an abort ends this rank's kernels only: init.cc, ncclCommAbort
//   - sums and maxima are taken element by element in the element's type, and are the same at all
//     ranks: device/reduce_kernel.h; that the order is by rank is the fake's own rule
//   - ranks of one device are not refused, since each stands for a process that has a NCCL_HOSTID
//     of its own: init.cc, fillInfo
// Misuse is reported by fake_gpu::misuses(): two threads in one communicator at once; an abort
// while a thread is inside; two ends that differ in collective, size, type or tag; memory that is
// not the device's. The fake lacks several processes, channels and protocols; operations except
// ncclSum and ncclMax; and, for these two, types of 8 bits and unsigned types.
#pragma once

#include <cstdint>
#include <string>

namespace fake_gpu {

// Tags the next send or receive of this thread: the fake checks that both ends of a message have
// the same tag, which NCCL itself does not see.
void tag_next(std::int64_t tag);

// The number of communicators that have been made and are neither destroyed nor aborted.
[[nodiscard]] int communicators();
// The number of messages that each rank has launched, by communicator and peer, for a state's text.
[[nodiscard]] std::string communicators_state();

}  // namespace fake_gpu
