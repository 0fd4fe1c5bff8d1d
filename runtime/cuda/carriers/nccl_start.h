// connect_by_nccl: makes the communicators between this process and its neighbours, one for each
// direction (runtime/cuda/carriers/nccl_carrier.h), and sends a byte over each, so that NCCL
// connects nothing later.
//
// NCCL's calls that connect wait for the other end without a limit. So a second thread makes these
// calls, while this one forwards the names of communicators and notices which processes are lost.
// The second thread takes the directions one at a time, in the same order in all processes, and
// waits for each direction's other end alone. Hence there is no cycle: in the first direction of
// that order that is not done, both ends are done with all directions before it, so both are
// connecting it. The order begins with pairs of near ranks, every second pair of a chain at once,
// so that a pipeline connects in a few rounds.
//
// Fails by status, with NCCL's text, and within the meeting's limit. If the thread does not return,
// it is left behind with all that it uses; of the caller's objects it uses only the library.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/cuda/carriers/carrier_meeting.h"
#include "runtime/cuda/carriers/nccl_carrier.h"

namespace ripeline::runtime::cuda {

struct NcclOptions {
  const NcclLibrary* library = nullptr;  // outlives every thread
  std::string why_none = "none was loaded";
  // The thread blocks of a kernel of one communicator, and the most of all kernels on a device
  // together. A neighbour takes two communicators, each with one kernel at a time, so at most 4
  // blocks. Thus 8 neighbours fit, and more are refused. A data-centre GPU runs more than a hundred
  // blocks side by side; the rest is left to tasks.
  int blocks = 2;
  int most_blocks = 32;
  std::size_t largest_part = std::size_t{1} << 36;  // bytes
  // `device` is equal for processes that share a device; if it is empty, CUDA's name is used.
  // `process` is equal for ranks of one process; if it is 0, a number is drawn once per process.
  std::string device;
  std::uint64_t process = 0;
};

// Must be called once. `memory` is of the current device; `pairs` are by neighbour.
core::Status connect_by_nccl(CarrierMeeting& meeting, const NcclOptions& options,
                             const DeviceMemory& memory, std::map<int, NcclPair>& pairs);

}  // namespace ripeline::runtime::cuda
