// Memory: the fake device's own memory, the host's that is pinned, and the memory that processes
// open of each other's.
//
// A thread counts as a process of its own, with the number that it was given (be_process); one that
// was given none (-1) may be any. Memory that another process has opened lies at another address
// there. The host's memory is of all, as it is of threads. Where a rule is from: the CUDA Runtime
// API of toolkit 13.0, Device Management, at
//   - a handle is of the beginning of an allocation, and of no later one there: cudaIpcGetMemHandle
//   - it is opened by another process of this device than its own: cudaIpcOpenMemHandle
//   - opened once more by the same, it is where it was, and closed as often: cudaIpcOpenMemHandle
//   - memory is not freed before all have closed it: cudaIpcOpenMemHandle
//   - what is closed is not there any more, and is closed once: cudaIpcCloseMemHandle
// What breaks one is reported. The caller has the lock.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fake_gpu {

class Memory {
 public:
  enum class Of { device, host };

  // Misuses go there, in words; borrowed.
  explicit Memory(std::vector<std::string>& misuses) : misuses_(misuses) {}
  // Frees all that was not given back.
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  cudaError_t allocate(Of of, int process, std::size_t size, void** data);
  // False: nothing was allocated there, which is reported.
  bool may_free(Of of, const void* data);
  void free(void* data);
  [[nodiscard]] std::size_t bytes(Of of) const;

  // Where bytes lie that a process names so; null: it cannot reach them all.
  [[nodiscard]] std::byte* reach(const void* at, std::size_t size, int process) const;
  [[nodiscard]] bool is_of_another(const void* at) const;  // in memory that was opened
  // Whether it is the device's, its own or that of another process.
  [[nodiscard]] bool is_of_device(const void* at) const;
  // Whether what is named so lies in the allocation that begins at `data`.
  [[nodiscard]] bool is_in(const void* at, const void* data) const;

  cudaError_t export_it(void* data, cudaIpcMemHandle_t& handle);
  cudaError_t open(const cudaIpcMemHandle_t& handle, int process, void** data);
  cudaError_t close(void* data, int process);

 private:
  struct Allocation {
    Of of = Of::device;
    int process = -1;
    std::size_t size = 0;
    std::uint64_t number = 0;
  };
  struct Mapping {
    std::byte* of = nullptr;  // an allocation
    std::uint64_t number = 0;
    std::size_t size = 0;
    int process = -1;
    int opened = 0;  // how often
  };

  [[nodiscard]] const std::pair<std::byte* const, Allocation>* allocation_at(
      const void* at, std::size_t size) const;
  [[nodiscard]] const Mapping* mapping_at(const void* at, std::size_t size,
                                          std::size_t& offset) const;
  void misuse(const std::string& what) { misuses_.push_back(what); }

  std::vector<std::string>& misuses_;
  std::map<std::byte*, Allocation> allocations_;
  std::map<std::byte*, Mapping> mappings_;  // also those that are closed: none lies there again
  std::uint64_t next_ = 1;
};

}  // namespace fake_gpu
