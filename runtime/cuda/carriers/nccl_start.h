// connect_by_nccl: makes the communicators between this process and its neighbours, one for each
// direction (runtime/cuda/carriers/nccl_carrier.h), and lets a byte pass on each, so that NCCL
// connects nothing later.
//
// Calls of NCCL that connect wait for the other end without a limit. So a thread makes them, while
// this one forwards the names of communicators and hears who is lost. That thread takes the
// directions one at a time in an order which is the same in all processes, and for each waits for
// nothing but the other end. Hence there is no cycle: of those that are not done take the first in
// that order; both its ends are done with all before it, so both are at it. The order takes pairs
// of near ranks first, every second one of a chain at once, so that a pipeline connects in a few
// rounds.
//
// Fails by status, with what NCCL says, and within the meeting's limit. Where the thread does not
// come back it is left behind, with what it uses: nothing of the caller's but the library.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/cuda/carriers/carrier_meeting.h"
#include "runtime/cuda/carriers/nccl_carrier.h"

namespace ripeline::runtime {

struct NcclOptions {
  const NcclLibrary* library = nullptr;  // outlives every thread
  std::string why_none = "none was loaded";
  // Thread blocks of a device: what a kernel of one communicator takes, and what all kernels may
  // take together. A neighbour has two communicators, with one kernel at a time: at most 4 blocks,
  // so that 8 neighbours fit, and more are refused. A GPU of a data centre runs more than a hundred
  // blocks side by side; the rest is left to tasks.
  int blocks = 2;
  int most_blocks = 32;
  std::size_t largest_part = std::size_t{1} << 36;  // bytes
  // As others see them: equal of two processes if these share their device, or are one. Empty: as
  // CUDA names it; 0: as drawn once for each process.
  std::string device;
  std::uint64_t process = 0;
};

// `memory` is of the current device. Once; by process.
core::Status connect_by_nccl(CarrierMeeting& meeting, const NcclOptions& options,
                             const DeviceMemory& memory, std::map<int, NcclPair>& pairs);

}  // namespace ripeline::runtime
