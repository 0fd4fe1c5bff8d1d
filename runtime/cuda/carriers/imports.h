// Imports: what another process has exported and this one has opened
// (runtime/cuda/carriers/exports.h).
//
// A place is unused from when it is given until take() finds it the smallest that is large enough;
// the other process then gives it again, or not. One thread, in which the device is current.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "runtime/carrier_words.h"
#include "runtime/cuda/device.h"

namespace ripeline::runtime {

// Another process's memory, as this one sees it until it ends.
class OpenedMemory {
 public:
  static core::Status open(const MemoryHandle& handle, OpenedMemory& memory);
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
  // It is unused; opened, if it was not. `invalid`: it cannot be given.
  core::Status add(const PlacesGiven::Place& place);
  // The smallest that holds so many bytes; nothing: there is none.
  std::optional<std::uint32_t> take(std::size_t size);
  [[nodiscard]] std::byte* data(std::uint32_t id) const { return opened_.at(id).memory.data(); }

  // Closes the smallest that is unused, or all, used or not, and appends which.
  void close_smallest(std::vector<std::uint32_t>& closed);
  void close_all(std::vector<std::uint32_t>& closed);

  // How many places have been given until now.
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

}  // namespace ripeline::runtime
