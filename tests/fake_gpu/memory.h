// Memory: the fake device's memory, pinned memory of the host, and memory that processes open from
// each other.
//
// A thread counts as the process whose number it gave to be_process(); one without a number (-1)
// may be any process. A process that opens memory of another one sees it at another address. All
// processes share the host's memory, as threads do. The source of each rule is the CUDA Runtime API
// (toolkit 13.0), Device Management, at the function named after the rule:
//   - a handle exists for the start of an allocation, not for a later address: cudaIpcGetMemHandle
//   - only another process of this device opens it, not the owner: cudaIpcOpenMemHandle
//   - a process that opens it again gets the same address, and closes twice: cudaIpcOpenMemHandle
//   - memory is not freed before all processes have closed it: cudaIpcOpenMemHandle
//   - closed memory cannot be reached, and is closed only once: cudaIpcCloseMemHandle
// A call that breaks a rule is reported. The caller holds the lock.
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

  // A description of each misuse is appended to `misuses`, which is borrowed.
  explicit Memory(std::vector<std::string>& misuses) : misuses_(misuses) {}
  // Frees all allocations that were not freed.
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  cudaError_t allocate(Of of, int process, std::size_t size, void** data);
  // If nothing was allocated at `data`, reports this and returns false.
  bool may_free(Of of, const void* data);
  void free(void* data);
  [[nodiscard]] std::size_t bytes(Of of) const;

  // The bytes to which `at` points in a process; null if the process cannot reach all of them.
  [[nodiscard]] std::byte* reach(const void* at, std::size_t size, int process) const;
  [[nodiscard]] bool is_of_another(const void* at) const;  // whether `at` lies in opened memory
  // Whether the memory is the device's, allocated by this process or opened from another one.
  [[nodiscard]] bool is_of_device(const void* at) const;
  // Whether the bytes to which `at` points lie in the allocation that begins at `data`.
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
    std::byte* of = nullptr;  // the start of an allocation
    std::uint64_t number = 0;
    std::size_t size = 0;
    int process = -1;
    int opened = 0;  // how many times
  };

  [[nodiscard]] const std::pair<std::byte* const, Allocation>* allocation_at(
      const void* at, std::size_t size) const;
  [[nodiscard]] const Mapping* mapping_at(const void* at, std::size_t size,
                                          std::size_t& offset) const;
  void misuse(const std::string& what) { misuses_.push_back(what); }

  std::vector<std::string>& misuses_;
  std::map<std::byte*, Allocation> allocations_;
  std::map<std::byte*, Mapping> mappings_;  // includes closed ones, whose addresses are not reused
  std::uint64_t next_ = 1;
};

}  // namespace fake_gpu
