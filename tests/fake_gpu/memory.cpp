#include "tests/fake_gpu/memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>

namespace fake_gpu {

namespace {

struct Handle {
  std::uint64_t program;
  std::byte* data;
  std::uint64_t number;
};
static_assert(sizeof(Handle) <= sizeof(cudaIpcMemHandle_t));

// A random number for this process, since each process has another device.
std::uint64_t this_program() {
  static const std::uint64_t number = [] {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
  }();
  return number;
}

std::byte* make(std::size_t size) {
  return static_cast<std::byte*>(std::aligned_alloc(256, (size + 255) / 256 * 256));
}

}  // namespace

Memory::~Memory() {
  for (const auto& [data, allocation] : allocations_) std::free(data);
  for (const auto& [data, mapping] : mappings_) std::free(data);
}

cudaError_t Memory::allocate(Of of, int process, std::size_t size, void** data) {
  std::byte* const made = make(size);
  if (made == nullptr) return cudaErrorMemoryAllocation;
  std::memset(made, 0xA5, size);  // not zeros, since nobody may rely on the contents
  allocations_[made] = {.of = of, .process = process, .size = size, .number = next_++};
  *data = made;
  return cudaSuccess;
}

bool Memory::may_free(Of of, const void* data) {
  const auto found = allocations_.find(static_cast<std::byte*>(const_cast<void*>(data)));
  if (found == allocations_.end() || found->second.of != of) {
    misuse("memory is freed that was not allocated");
    return false;
  }
  for (const auto& [at, mapping] : mappings_) {
    if (mapping.number == found->second.number && mapping.opened > 0) {
      misuse("memory is freed that process " + std::to_string(mapping.process) + " has open");
    }
  }
  return true;
}

void Memory::free(void* data) {
  const auto found = allocations_.find(static_cast<std::byte*>(data));
  std::memset(data, 0x5A, found->second.size);
  std::free(data);
  allocations_.erase(found);
}

std::size_t Memory::bytes(Of of) const {
  std::size_t bytes = 0;
  for (const auto& [data, allocation] : allocations_)
    bytes += allocation.of == of ? allocation.size : 0;
  return bytes;
}

const std::pair<std::byte* const, Memory::Allocation>* Memory::allocation_at(
    const void* at, std::size_t size) const {
  const auto* const first = static_cast<const std::byte*>(at);
  auto next = allocations_.upper_bound(const_cast<std::byte*>(first));
  if (next == allocations_.begin()) return nullptr;
  --next;
  return first + size <= next->first + next->second.size ? &*next : nullptr;
}

const Memory::Mapping* Memory::mapping_at(const void* at, std::size_t size,
                                          std::size_t& offset) const {
  const auto* const first = static_cast<const std::byte*>(at);
  auto next = mappings_.upper_bound(const_cast<std::byte*>(first));
  if (next == mappings_.begin()) return nullptr;
  --next;
  offset = static_cast<std::size_t>(first - next->first);
  return offset + size <= next->second.size ? &next->second : nullptr;
}

std::byte* Memory::reach(const void* at, std::size_t size, int process) const {
  if (const auto* const own = allocation_at(at, size)) {
    const int of = own->second.process;
    const bool is_reached = own->second.of == Of::host || of < 0 || process < 0 || of == process;
    return is_reached ? const_cast<std::byte*>(static_cast<const std::byte*>(at)) : nullptr;
  }
  std::size_t offset = 0;
  const Mapping* const mapping = mapping_at(at, size, offset);
  if (mapping == nullptr || mapping->opened == 0) return nullptr;
  if (process >= 0 && mapping->process >= 0 && mapping->process != process) return nullptr;
  const auto found = allocations_.find(mapping->of);
  const bool is_there = found != allocations_.end() && found->second.number == mapping->number;
  return is_there ? mapping->of + offset : nullptr;
}

bool Memory::is_of_another(const void* at) const {
  std::size_t offset = 0;
  return mapping_at(at, 1, offset) != nullptr;
}

bool Memory::is_of_device(const void* at) const {
  const auto* const own = allocation_at(at, 1);
  return own != nullptr ? own->second.of == Of::device : is_of_another(at);
}

bool Memory::is_in(const void* at, const void* data) const {
  std::size_t offset = 0;
  const auto* const own = allocation_at(at, 1);
  if (own != nullptr) return own->first == data;
  const Mapping* const mapping = mapping_at(at, 1, offset);
  return mapping != nullptr && mapping->opened > 0 && mapping->of == data;
}

cudaError_t Memory::export_it(void* data, cudaIpcMemHandle_t& handle) {
  const auto found = allocations_.find(static_cast<std::byte*>(data));
  if (found == allocations_.end() || found->second.of != Of::device) {
    misuse("a handle is asked of what is not the beginning of memory of the device");
    return cudaErrorInvalidValue;
  }
  const Handle made{
      .program = this_program(), .data = found->first, .number = found->second.number};
  std::memset(&handle, 0, sizeof handle);
  std::memcpy(&handle, &made, sizeof made);
  return cudaSuccess;
}

cudaError_t Memory::open(const cudaIpcMemHandle_t& handle, int process, void** data) {
  Handle made{};
  std::memcpy(&made, &handle, sizeof made);
  if (made.program != this_program()) return cudaErrorMapBufferObjectFailed;
  const auto found = allocations_.find(made.data);
  if (found == allocations_.end() || found->second.number != made.number) {
    misuse("a handle is opened of memory that is not there");
    return cudaErrorInvalidValue;
  }
  if (process >= 0 && found->second.process == process) return cudaErrorDeviceUninitialized;
  for (auto& [at, mapping] : mappings_) {
    if (mapping.number != made.number || mapping.process != process || mapping.opened == 0)
      continue;
    ++mapping.opened;
    *data = at;
    return cudaSuccess;
  }
  std::byte* const at = make(found->second.size);
  if (at == nullptr) return cudaErrorMapBufferObjectFailed;
  mappings_[at] = {.of = made.data,
                   .number = made.number,
                   .size = found->second.size,
                   .process = process,
                   .opened = 1};
  *data = at;
  return cudaSuccess;
}

cudaError_t Memory::close(void* data, int process) {
  const auto found = mappings_.find(static_cast<std::byte*>(data));
  if (found == mappings_.end() || found->second.opened == 0 ||
      (process >= 0 && found->second.process >= 0 && found->second.process != process)) {
    misuse("memory is closed that is not open");
    return cudaErrorInvalidValue;
  }
  --found->second.opened;
  return cudaSuccess;
}

}  // namespace fake_gpu
