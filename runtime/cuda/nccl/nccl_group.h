// NcclGroup: one process's place in a group that adds up numbers which lie on devices. The group
// has its own communicator of NCCL.
//
//   NcclGroup group(std::move(comm));
//   status = group.enqueue({data, count, NcclType::float32}, NcclSum::sum, stream);
//   status = group.reduce({data, count, NcclType::float32}, NcclSum::sum, stream);
//
// All processes of the group make the same calls in the same order, one at a time. Until all have
// enqueued a reduction, it occupies each device that has it. So members of a rank, which agree on
// the order of their tasks, enqueue on the stream that computes; others wait on the host.
//
// After close(), from any thread, every call fails, also one that waits, and the communicator is
// aborted, which ends what was enqueued. NCCL allows an abort only while no thread is inside a
// call: a thread that comes out of a call aborts the communicator itself. One that never comes out
// is left there, up to the limits of those who wait for it (runtime/watchdog/last_wait.h). Fails by
// status, `lost` for what NCCL refuses or reports, since as far as one can know other processes are
// to blame. Calls may come from any thread; they make the communicator's device current meanwhile.
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
  // Aborts. What other processes of the group still have enqueued may then never end: destroy a
  // group only after a barrier, or because the run has failed.
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  // Enqueues a reduction; the host does not wait.
  core::Status enqueue(const NcclNumbers& numbers, NcclSum sum, cudaStream_t stream);
  // Reduces on the group's own stream, after all work of `before` so far; returns when that is
  // over. After a failure the numbers must stay where they are until the group ends.
  core::Status reduce(const NcclNumbers& numbers, NcclSum sum, cudaStream_t before);
  void close();

 private:
  // Makes a call of the communicator, unless the group is closed.
  template <class Call>
  core::Status inside(const Call& call);
  core::Status prepare();
  core::Status wait();
  // To be called with the mutex held, while no thread is inside a call.
  void abort();

  std::unique_ptr<NcclComm> comm_;
  int device_ = 0;
  // For reduce(), made by its first call.
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
