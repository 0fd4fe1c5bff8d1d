#include "runtime/cuda/carriers/imports.h"

#include <cstring>
#include <string>

#include "runtime/watchdog/call_guard.h"

namespace ripeline::runtime::cuda {

using core::Status;

Status OpenedMemory::open(const protocol::MemoryHandle& handle, OpenedMemory& memory) {
  cudaIpcMemHandle_t made{};
  std::memcpy(&made, handle.data(), sizeof made);
  OpenedMemory opened;
  const watchdog::GuardedCall call("cudaIpcOpenMemHandle");
  const cudaError_t error =
      cudaIpcOpenMemHandle(&opened.data_, made, cudaIpcMemLazyEnablePeerAccess);
  // CUDA's error for memory of the same process (source: its reference manual; driver 580).
  if (error == cudaErrorDeviceUninitialized) {
    cudaGetLastError();
    return {core::StatusCode::refused, "CUDA IPC is between processes, and these ranks share one"};
  }
  if (Status s = status_of(error, "open the memory of another process"); !s.ok()) return s;
  memory = std::move(opened);
  return {};
}

OpenedMemory::~OpenedMemory() {
  if (data_ == nullptr) return;
  const watchdog::GuardedCall call("cudaIpcCloseMemHandle");
  cudaIpcCloseMemHandle(data_);
}

Status Imports::add(const protocol::BuffersGiven::Buffer& buffer) {
  ++seen_;
  auto found = opened_.find(buffer.id);
  const bool is_new = found == opened_.end();
  if (is_new != buffer.handle.has_value() || (!is_new && found->second.bytes != buffer.bytes) ||
      unused_.contains({buffer.bytes, buffer.id})) {
    return {core::StatusCode::invalid,
            "the receiver gave place " + std::to_string(buffer.id) + ", which it cannot give"};
  }
  if (is_new) {
    Opened opened{.memory = {}, .bytes = buffer.bytes};
    if (Status s = OpenedMemory::open(*buffer.handle, opened.memory); !s.ok()) return s;
    opened_.emplace(buffer.id, std::move(opened));
  }
  unused_.emplace(buffer.bytes, buffer.id);
  return {};
}

std::optional<std::uint32_t> Imports::take(std::size_t size) {
  const auto found = unused_.lower_bound({size, 0});
  if (found == unused_.end()) return std::nullopt;
  const std::uint32_t id = found->second;
  unused_.erase(found);
  return id;
}

void Imports::close_smallest(std::vector<std::uint32_t>& closed) {
  if (unused_.empty()) return;
  const std::uint32_t id = unused_.begin()->second;
  unused_.erase(unused_.begin());
  opened_.erase(id);
  closed.push_back(id);
}

void Imports::close_all(std::vector<std::uint32_t>& closed) {
  for (const auto& [id, opened] : opened_) closed.push_back(id);
  unused_.clear();
  opened_.clear();
}

}  // namespace ripeline::runtime::cuda
