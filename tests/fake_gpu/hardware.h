// Hardware: the queues by which a fake device is given work, and its room; its streams share both.
//
// Where a rule is from:
//   a device has CUDA_DEVICE_MAX_CONNECTIONS queues, which streams share when there are more of
//   them; what cannot start holds up what was launched behind it in its queue, whatever its stream
//     CUDA C++ Programming Guide 13.0, environment variables; NVIDIA/nccl issues 522, 574, 783
//   a kernel starts when all its blocks fit beside those that run
//     Programming Guide, concurrent kernel execution: no promise that kernels run side by side
//   a launch queue is full after 1024 launches, and the next call waits
//     NVIDIA/nccl issue 1766
// Values; the caller has the lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace fake_gpu {

class Hardware {
 public:
  // connections 0: each stream has a queue of its own. blocks 0: everything fits.
  Hardware(int connections, int blocks) : connections_(connections), blocks_(blocks) {}

  // The queue of a new stream of the device.
  int queue_of_new_stream(int device);
  // A place at the end of the queue.
  std::int64_t launch(int device, int queue);
  // The one at the head, which may start.
  [[nodiscard]] std::int64_t head(int device, int queue) const;
  [[nodiscard]] std::size_t waiting(int device, int queue) const;
  void leave(int device, int queue, std::int64_t place) { queues_[{device, queue}].erase(place); }

  [[nodiscard]] bool fits(int device, int blocks) const;
  void occupy(int device, int blocks) { occupied_[device] += blocks; }
  void vacate(int device, int blocks) { occupied_[device] -= blocks; }

 private:
  int connections_;
  int blocks_;
  std::int64_t launched_ = 0;
  std::map<int, int> streams_;  // by device
  std::map<int, int> occupied_;
  std::map<std::pair<int, int>, std::set<std::int64_t>> queues_;  // by device and queue
};

}  // namespace fake_gpu
