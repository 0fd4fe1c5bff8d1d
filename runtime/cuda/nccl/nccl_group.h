// NcclGroup: one process's place in a group that adds up numbers which lie on devices, over a
// communicator of NCCL's own.
//
//   NcclGroup group(std::move(comm));
//   status = group.enqueue({data, count, NcclType::float32}, NcclSum::sum, stream);
//   status = group.reduce({data, count, NcclType::float32}, NcclSum::sum, stream);
//
// All of the group make the same calls in the same order, one at a time. Until all have, what was
// enqueued occupies each device on which it is. So members of a rank, which agree on the order of
// their tasks, enqueue on the stream that computes; who agrees on less waits on the host.
//
// After close(), from any thread, every call fails, also one that waits, and what was enqueued ends
// by an abort of the communicator. NCCL allows that while no thread is inside a call: whoever comes
// out of one aborts it himself, and one that never comes out is left there, to the limits of those
// who wait for its thread (runtime/last_wait.h). Fails by status, `lost` for what NCCL refuses or
// reports, since others are to blame as far as one can know. Calls may come from any thread, in
// which the communicator's device is made current meanwhile.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>

#include "core/status.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/nccl/nccl_library.h"

namespace ripeline::runtime {

// On the device, and changed in place.
struct NcclNumbers {
  void* data = nullptr;
  std::size_t count = 0;
  NcclType type = NcclType::float32;
};

class NcclGroup {
 public:
  // How long close() waits for a thread that is inside a call.
  static constexpr std::chrono::seconds kClose{2};

  // The communicator's device is the current one.
  explicit NcclGroup(std::unique_ptr<NcclComm> comm);
  // Aborts. What others of the group still have enqueued may then never end: come here after a
  // barrier, or because the run has failed.
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  // The host does not wait.
  core::Status enqueue(const NcclNumbers& numbers, NcclSum sum, cudaStream_t stream);
  // After what `before` has been given until now, on a stream of the group's; returns when it is
  // over. If it fails the numbers must stay where they are until the group ends.
  core::Status reduce(const NcclNumbers& numbers, NcclSum sum, cudaStream_t before);
  void close();

 private:
  // A call of the communicator.
  template <class Call>
  core::Status inside(const Call& call);
  core::Status prepare();
  core::Status wait();
  // With the mutex, and no thread inside a call.
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

}  // namespace ripeline::runtime
