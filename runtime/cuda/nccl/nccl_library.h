// NcclLibrary: the part of NCCL that the runtime uses, behind an interface. A plug-in implements it
// (runtime/cuda/nccl/), and is loaded when first asked for: programs build and start without
// NCCL.
//
//   const NcclLibrary* nccl = nullptr;
//   status = load_nccl(nccl);  // runtime/cuda/nccl/load_nccl.h
//   NcclId id;
//   status = nccl->make_id(id);  // in one process, which gives it to the others
//   status = nccl->connect(id, {.rank = 0, .size = 2}, comm);  // in all of them
//   status = comm->send(data, bytes, 1, stream);
//
// NCCL's own rules hold: all ranks of a communicator make matching calls in the same order, one
// thread at a time is in one communicator, and an enqueued operation occupies the device until its
// other side runs. Calls that block say so. All fail by status, with NCCL's text. A communicator's
// device is the current one in connect(), and must be current in every later call.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/status.h"

namespace ripeline::runtime::cuda {

// Names a communicator that is to be made; it cannot be used for a second one.
using NcclId = std::array<std::byte, 128>;

struct NcclPlace {
  int rank = 0;
  int size = 1;
  // Thread blocks that the communicator's kernels may take of a device; 0: as many as NCCL chooses.
  int most_blocks = 0;
};

// One of the parts that an operation moves; it must not be empty.
struct NcclPart {
  void* data = nullptr;
  std::size_t bytes = 0;
};

enum class NcclType : std::uint8_t { float16, bfloat16, float32, float64, int32, int64 };
enum class NcclSum : std::uint8_t { sum, maximum };

class NcclComm {
 public:
  // Aborts the communicator unless finish() has succeeded, and waits for its kernels to end.
  virtual ~NcclComm() = default;

  // Send to, and receive from, another rank; the first call for a rank waits for that rank's call.
  virtual core::Status send(const void* data, std::size_t bytes, int rank, cudaStream_t stream) = 0;
  virtual core::Status receive(void* data, std::size_t bytes, int rank, cudaStream_t stream) = 0;
  // Move several parts in one operation; the other rank must move as many, of the same sizes.
  virtual core::Status send_parts(std::span<const NcclPart> parts, int rank,
                                  cudaStream_t stream) = 0;
  virtual core::Status receive_parts(std::span<const NcclPart> parts, int rank,
                                     cudaStream_t stream) = 0;
  // Reduces `count` elements; `from` and `onto` may be equal. The first call waits for all ranks.
  virtual core::Status reduce(const void* from, void* onto, std::size_t count, NcclType type,
                              NcclSum sum, cudaStream_t stream) = 0;
  // Fails if any operation has failed so far; never blocks.
  virtual core::Status health() = 0;
  // Ends what has been enqueued, at this rank alone, and makes every later call fail. No thread may
  // be inside a call: a thread that waits there stays until the process ends.
  virtual void abort() = 0;
  // To be called by all ranks once nothing is enqueued at any of them; waits for the others.
  virtual core::Status finish() = 0;
};

class NcclLibrary {
 public:
  virtual ~NcclLibrary() = default;
  [[nodiscard]] virtual int version() const = 0;  // 22809 is 2.28.9
  // Makes an id; starts a thread, and opens a port on which the other ranks will connect.
  [[nodiscard]] virtual core::Status make_id(NcclId& id) const = 0;
  // Waits for all ranks, without a limit: to be called in a thread that can be left behind.
  [[nodiscard]] virtual core::Status connect(const NcclId& id, const NcclPlace& place,
                                             std::unique_ptr<NcclComm>& comm) const = 0;
};

}  // namespace ripeline::runtime::cuda
