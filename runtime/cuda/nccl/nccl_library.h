// NcclLibrary: what the runtime uses of NCCL, behind an interface. What implements it is a plug-in
// (runtime/cuda/nccl/), which is loaded when it is asked for: programs build and start without
// NCCL.
//
//   const NcclLibrary* nccl = nullptr;
//   status = load_nccl(nccl);  // runtime/cuda/nccl/load_nccl.h
//   NcclId id;
//   status = nccl->make_id(id);  // in one process, which gives it to the others
//   status = nccl->connect(id, {.rank = 0, .size = 2}, comm);  // in all of them
//   status = comm->send(data, bytes, 1, stream);
//
// NCCL's own rules hold: all of a communicator make matching calls in the same order, one thread at
// a time is in one communicator, and what is enqueued occupies the device until its other side is
// there. Calls that block say so. All fail by status, with what NCCL says of it. The device of a
// communicator is the one that is current in connect(), and must be in every later call.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/status.h"

namespace ripeline::runtime {

// Names a communicator that is to be; of no use a second time.
using NcclId = std::array<std::byte, 128>;

struct NcclPlace {
  int rank = 0;
  int size = 1;
  // Thread blocks that its kernels may take of a device; 0: as many as NCCL likes.
  int most_blocks = 0;
};

// A part of what one operation moves; none is empty.
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

  // To and from another rank; the first call with a rank waits until that makes its own.
  virtual core::Status send(const void* data, std::size_t bytes, int rank, cudaStream_t stream) = 0;
  virtual core::Status receive(void* data, std::size_t bytes, int rank, cudaStream_t stream) = 0;
  // Several at once: one operation, with the other rank's of as many parts of the same sizes.
  virtual core::Status send_parts(std::span<const NcclPart> parts, int rank,
                                  cudaStream_t stream) = 0;
  virtual core::Status receive_parts(std::span<const NcclPart> parts, int rank,
                                     cudaStream_t stream) = 0;
  // Reduces `count` elements; may be in place. The first call waits for all ranks.
  virtual core::Status reduce(const void* from, void* onto, std::size_t count, NcclType type,
                              NcclSum sum, cudaStream_t stream) = 0;
  // Whether something has failed since; never blocks.
  virtual core::Status health() = 0;
  // Ends what has been enqueued, here alone, and every later call fails. No thread may be inside a
  // call: one that waits there stays until the process ends.
  virtual void abort() = 0;
  // Once nothing of it is enqueued at any rank, which all call: waits for them.
  virtual core::Status finish() = 0;
};

class NcclLibrary {
 public:
  virtual ~NcclLibrary() = default;
  [[nodiscard]] virtual int version() const = 0;  // 22809 is 2.28.9
  // Starts a thread, and opens a port on which the others will be awaited.
  [[nodiscard]] virtual core::Status make_id(NcclId& id) const = 0;
  // Waits until all have come, for ever: to be called in a thread that can be left behind.
  [[nodiscard]] virtual core::Status connect(const NcclId& id, const NcclPlace& place,
                                             std::unique_ptr<NcclComm>& comm) const = 0;
};

}  // namespace ripeline::runtime
