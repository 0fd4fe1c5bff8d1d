// NcclLibrary: the part of NCCL that the runtime uses, behind an interface. A plug-in implements it
// (runtime/cuda/nccl/), and is loaded at the first request. So programs build and start without
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
// thread at a time uses a communicator, and an enqueued operation occupies the device until its
// other side runs. Each call that blocks is described so. All fail by status, with NCCL's text. The
// current device of connect() must be current in every later call of the communicator.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/status.h"

namespace ripeline::runtime::cuda {

// Names a communicator that is to be made. A second communicator needs another id.
using NcclId = std::array<std::byte, 128>;

struct NcclCommOptions {
  int rank = 0;
  int size = 1;
  // Thread blocks that the communicator's kernels may take of a device; if 0, NCCL chooses.
  int most_blocks = 0;
};

// One of the parts that an operation moves. It must not be empty.
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

  // Send to, or receive from, another rank. The first call for a rank waits for that rank's call.
  virtual core::Status send(const void* data, std::size_t bytes, int rank, cudaStream_t stream) = 0;
  virtual core::Status receive(void* data, std::size_t bytes, int rank, cudaStream_t stream) = 0;
  // Move several parts in one operation. The other rank must move as many parts, of the same sizes.
  virtual core::Status send_parts(std::span<const NcclPart> parts, int rank,
                                  cudaStream_t stream) = 0;
  virtual core::Status receive_parts(std::span<const NcclPart> parts, int rank,
                                     cudaStream_t stream) = 0;
  // Reduces `count` elements; `from` and `onto` may be equal. The first call waits for all ranks.
  virtual core::Status reduce(const void* from, void* onto, std::size_t count, NcclType type,
                              NcclSum sum, cudaStream_t stream) = 0;
  // Fails if any operation has failed so far; never blocks.
  virtual core::Status health() = 0;
  // Ends all enqueued operations, at this rank alone, and makes every later call fail. No thread
  // may be inside a call: a thread that waits in one stays there until the process ends.
  virtual void abort() = 0;
  // Every rank must call this once no rank has an operation enqueued; waits for the others.
  virtual core::Status finish() = 0;
};

class NcclLibrary {
 public:
  virtual ~NcclLibrary() = default;
  [[nodiscard]] virtual int version() const = 0;  // 22809 is 2.28.9
  // Makes an id. Starts a thread, and opens a port to which the other ranks will connect.
  [[nodiscard]] virtual core::Status make_id(NcclId& id) const = 0;
  // Waits for all ranks without a limit, so call it in a thread that can be left behind.
  [[nodiscard]] virtual core::Status connect(const NcclId& id, const NcclCommOptions& options,
                                             std::unique_ptr<NcclComm>& comm) const = 0;
};

}  // namespace ripeline::runtime::cuda
