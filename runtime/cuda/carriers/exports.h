// Exports: buffers of this device to which one other process writes.
//
// A buffer is *given* to the peer, which may write to it once; is *out* from when the peer has said
// that it did until the last keeper of what it wrote ends; then it is *back*, and may still be read
// by what was enqueued before. As soon as the host has seen that this is over it is given again: a
// stream of another process cannot wait for events of this one. So all that is not in use lies with
// the peer, which need not ask for it.
//
// The peer asks when it lacks a place. Only then, and if nothing that is on its way to it fits,
// memory is allocated. So there are never more buffers than were in use at once: a message that may
// leave has a slot at its receiver, and what has been taken out of its slot is held by a task.
//
// The peer opens a buffer once, the first time that it is given. Memory is freed when the peer has
// closed it; what it has not closed when this ends stays, until the process does.
//
// What the peer says is checked: `invalid` is its fault. One thread, but for the keepers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/carrier_words.h"
#include "runtime/cuda/device_memory.h"

namespace ripeline::runtime {

// This process's memory as another one opens it; `memory` is the beginning of an allocation.
core::Status export_memory(void* memory, MemoryHandle& handle);

class Exports {
 public:
  // Buffers are multiples of `granule` bytes, and none is of more than `largest`.
  Exports(DeviceMemory memory, std::size_t granule, std::size_t largest);
  ~Exports();
  Exports(const Exports&) = delete;
  Exports& operator=(const Exports&) = delete;

  // Both append what the peer is to be told of. The first: buffers that are free again.
  core::Status collect(PlacesGiven& given);
  core::Status answer(const PlacesAsked& asked, PlacesGiven& given);
  // The peer has written to it.
  core::Status landed(const Landed::Part& part, Bytes& bytes);

  // Buffers that come back are given to nobody any more.
  void stop();

  // Some are back, and may be free soon.
  [[nodiscard]] bool is_waiting() const;
  // Nothing is open at the peer.
  [[nodiscard]] bool is_closed() const;

 private:
  class Pool;
  std::shared_ptr<Pool> pool_;  // buffers that are out keep it
};

}  // namespace ripeline::runtime
