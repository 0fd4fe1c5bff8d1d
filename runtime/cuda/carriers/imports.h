// Imports: the buffers that another process has exported and this process has opened
// (runtime/cuda/carriers/exports.h).
//
// A buffer is unused once the other process gives it, until take() chooses it. The other process
// may give it again later. One thread, in which the device is current.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/protocol/carrier_messages.h"

namespace ripeline::runtime::cuda {

// Memory of another process, open in this process as long as the object lives.
class OpenedMemory {
 public:
  static core::Status open(const protocol::MemoryHandle& handle, OpenedMemory& memory);
  OpenedMemory() = default;
  OpenedMemory(OpenedMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  OpenedMemory& operator=(OpenedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~OpenedMemory();
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

class Imports {
 public:
  // Adds a given buffer as unused; opens a new one. Fails as `invalid` if it may not be given.
  core::Status add(const protocol::BuffersGiven::Buffer& buffer);
  // Takes the smallest unused buffer of at least `size` bytes; nullopt if there is none.
  std::optional<std::uint32_t> take(std::size_t size);
  [[nodiscard]] std::byte* data(std::uint32_t id) const { return opened_.at(id).memory.data(); }

  // The first closes the smallest unused buffer, the second all buffers. Both append the ids.
  void close_smallest(std::vector<std::uint32_t>& closed);
  void close_all(std::vector<std::uint32_t>& closed);

  // How many times buffers have been given so far.
  [[nodiscard]] std::uint64_t seen() const { return seen_; }

 private:
  struct Opened {
    OpenedMemory memory;
    std::uint64_t bytes = 0;
  };
  std::map<std::uint32_t, Opened> opened_;                    // by id
  std::set<std::pair<std::uint64_t, std::uint32_t>> unused_;  // by size
  std::uint64_t seen_ = 0;
};

}  // namespace ripeline::runtime::cuda
