// A fake of libnccl on the fake device, linked instead of it: ranks are threads of this process, or
// take turns in one.
//
// Where a rule is from, of NCCL 2.28.9 the source that is named:
//   - the n-th send to a rank is the n-th receive there, by communicator:
//     enqueue.cc, scheduleP2pTasksToPlan
//   - a send is a rendezvous, but for what fits in buffers: docs, p2p; Options::credits
//   - one kernel at a time for each set of resources, each after the one that was launched before:
//     enqueue.cc, ncclLaunchPrepare, ncclLaunchFinish
//   - a communicator made by a split has its parent's resources if that was made with splitShare:
//     init.cc, commAlloc
//   - the first send or receive with a rank connects inside the call, and both ends must be in it:
//     enqueue.cc, p2pTaskAppend; group.cc, ncclGroupCommPreconnect
//   - what a group has of one communicator is one kernel, collectives before sends and receives,
//     and its streams are joined: enqueue.cc, ncclLaunchPrepare
//   - communicators of a group are launched by ascending hash: group.h, ncclGroupCommJoin
//   - with blocking = 0 a thread launches, and the call says "in progress"; the next call is an
//     error until that is polled: group.cc, ncclGroupEndInternal; init.cc, ncclCommEnsureReady
//   - an abort ends this rank's kernels, and nobody else's: init.cc, ncclCommAbort
//   - sums and maxima are taken element by element in the element's type, and are the same at all
//     ranks: device/reduce_kernel.h; that their order is that of ranks is the fake's
//   - ranks of one device are not refused, since each stands for a process that has a NCCL_HOSTID
//     of its own: init.cc, fillInfo
// Misuse is reported by fake_gpu::misuses(): two threads in one communicator at once; an abort
// while a thread is inside; another collective, size, type or tag at two ends; memory that is not
// the device's. Not in it: several processes, channels and protocols; operations but ncclSum and
// ncclMax, and types of 8 bits or without a sign for them.
#pragma once

#include <cstdint>
#include <string>

namespace fake_gpu {

// Tags the next send or receive of this thread: both ends of a message must have the same tag,
// which NCCL itself does not see.
void tag_next(std::int64_t tag);

// The number of communicators that have been made, and neither destroyed nor aborted.
[[nodiscard]] int communicators();
// How many messages each rank has launched, by communicator and peer: part of a state.
[[nodiscard]] std::string communicators_state();

}  // namespace fake_gpu
