// Hardware: the work queues and the room of a fake device, both of which its streams share.
//
// The rules, each with its source:
//   a device has CUDA_DEVICE_MAX_CONNECTIONS queues, shared by streams if there are more streams;
//   work that cannot start blocks the later work of its queue, whatever its stream
//     CUDA C++ Programming Guide 13.0, environment variables; NVIDIA/nccl issues 522, 574, 783
//   a kernel starts when all its blocks fit beside those that run
//     Programming Guide, concurrent kernel execution: no promise that kernels run side by side
//   a launch queue is full after 1024 launches, and the next call waits
//     NVIDIA/nccl issue 1766
// Plain values; the caller holds the lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace fake_gpu {

class Hardware {
 public:
  // With 0 connections each stream has its own queue; with 0 blocks all kernels fit.
  Hardware(int connections, int blocks) : connections_(connections), blocks_(blocks) {}

  // The number of the queue that the device's next stream will use.
  int queue_of_new_stream(int device);
  // Adds work at the end of the queue; returns the number of its place.
  std::int64_t launch(int device, int queue);
  // The place at the head of the queue, whose work may start.
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
