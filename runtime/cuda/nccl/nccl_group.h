// NcclGroup: one process's part in a group that sums numbers which are on devices. The group has
// its own communicator of NCCL.
//
//   NcclGroup group(std::move(comm));
//   status = group.enqueue({data, count, NcclType::float32}, NcclSum::sum, stream);
//   status = group.reduce({data, count, NcclType::float32}, NcclSum::sum, stream);
//
// All processes of the group make the same calls in the same order, one at a time. An enqueued
// reduction occupies its device until all processes have enqueued it. So members of a rank, which
// agree on the order of their tasks, enqueue on the stream that computes; others use reduce().
//
// After close(), from any thread, every call fails, even one that is waiting, and the communicator
// is aborted, which ends the enqueued operations. NCCL allows an abort only while no thread is
// inside a call, so a thread that returns from a call aborts the communicator itself. A thread that
// never returns is left; the waits for that thread have limits (runtime/watchdog/last_wait.h).
// Calls fail by status; an error from NCCL is `lost`, since other processes may have caused it.
// Calls may come from any thread, and make the communicator's device current meanwhile.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>

#include "core/status.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/nccl/nccl_library.h"

namespace ripeline::runtime::cuda {

// Numbers on the device, which a reduction changes in place.
struct NcclNumbers {
  void* data = nullptr;
  std::size_t count = 0;
  NcclType type = NcclType::float32;
};

class NcclGroup {
 public:
  // How long close() waits for a thread that is inside a call.
  static constexpr std::chrono::seconds kClose{2};

  // The communicator's device must be current.
  explicit NcclGroup(std::unique_ptr<NcclComm> comm);
  // Aborts the communicator. Operations that other processes still have enqueued may then never
  // end, so destroy a group only after a barrier, or after the run has failed.
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  // Enqueues a reduction; the host does not wait.
  core::Status enqueue(const NcclNumbers& numbers, NcclSum sum, cudaStream_t stream);
  // Reduces on the group's own stream, after all work of `before` so far; returns when the
  // reduction is over. After a failure the numbers must keep their memory until the group ends.
  core::Status reduce(const NcclNumbers& numbers, NcclSum sum, cudaStream_t before);
  void close();

 private:
  // Calls a function of the communicator, unless the group is closed.
  template <class Call>
  core::Status inside(const Call& call);
  core::Status prepare();
  core::Status wait();
  // Must be called with the mutex held, while no thread is inside a call.
  void abort();

  std::unique_ptr<NcclComm> comm_;
  int device_ = 0;
  // Used by reduce(), whose first call makes them.
  Stream stream_;
  Event before_;
  Event done_;
  bool given_up_ = false;
  std::mutex mutex_;
  std::condition_variable left_;
  // Guarded by the mutex.
  bool is_inside_ = false;
  bool closed_ = false;
  bool aborted_ = false;
};

}  // namespace ripeline::runtime::cuda
