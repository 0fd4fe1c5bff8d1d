// Exports: buffers on this process's device to which one other process, the peer, writes.
//
// A buffer is *given* to the peer, which may write to it once; *out* from when the peer reports the
// write until the last keeper of the written bytes ends; then *back*, while work that was enqueued
// before may still read it. It is given again once the host has seen the end of that work, since a
// stream of another process cannot wait for events of this one. So the peer has all buffers that
// are not in use, and need not ask for them.
//
// The peer asks when it lacks a place. Memory is allocated only then, and only if no buffer on its
// way to the peer fits. So there are never more buffers than were in use at once: a message that
// may leave has a slot at its receiver, and one that was taken out of its slot is held by a task.
//
// The peer opens a buffer once, the first time that the buffer is given. Memory is freed when the
// peer has closed it; memory that is still open when this object ends stays until the process ends.
//
// All that the peer sends is checked: `invalid` is its fault. One thread, except for the keepers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/cuda/device_memory.h"
#include "runtime/process/carrier_words.h"

namespace ripeline::runtime::cuda {

// Makes the handle by which another process opens `memory`, which is the start of an allocation.
core::Status export_memory(void* memory, process::MemoryHandle& handle);

class Exports {
 public:
  // Buffers are multiples of `granule` bytes, and none is of more than `largest`.
  Exports(DeviceMemory memory, std::size_t granule, std::size_t largest);
  ~Exports();
  Exports(const Exports&) = delete;
  Exports& operator=(const Exports&) = delete;

  // Both append the places that the peer is to be told of; collect(), buffers that are free again.
  core::Status collect(process::PlacesGiven& given);
  core::Status answer(const process::PlacesAsked& asked, process::PlacesGiven& given);
  // The peer has written to the place of this part.
  core::Status landed(const process::Landed::Part& part, Bytes& bytes);

  // From now on, buffers that come back are not given again.
  void stop();

  // Some buffers are back, and may be free soon.
  [[nodiscard]] bool is_waiting() const;
  // The peer has no buffer open.
  [[nodiscard]] bool is_closed() const;

 private:
  class Pool;
  std::shared_ptr<Pool> pool_;  // also kept alive by buffers that are out
};

}  // namespace ripeline::runtime::cuda
