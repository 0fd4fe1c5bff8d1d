// Exports: buffers on this process's device to which one other process, the peer, writes.
//
// A buffer is *given* while the peer may write to it, once. It is *out* from the peer's report of
// the write until the last owner of the written bytes ends. Then it is *back*, while work that was
// enqueued before may still read it. It is given again once the host has seen the end of that work,
// since a stream of another process cannot wait for events of this one. So the peer has all buffers
// that are not in use, and need not ask for those.
//
// The peer asks when it lacks a buffer. Memory is allocated only then, and only if no buffer on its
// way to the peer fits. So there are never more buffers than were in use at once. Their number is
// bounded: a message that may be sent has a slot, and one that has left its slot is held by a task.
//
// The peer opens a buffer once, the first time that the buffer is given. Memory is freed when the
// peer has closed it; memory that is still open when this object ends stays until the process ends.
//
// Checks all that the peer sends; `invalid` is the peer's fault. One thread, except for the owners.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/cuda/device_memory.h"
#include "runtime/protocol/carrier_messages.h"

namespace ripeline::runtime::cuda {

// Makes the handle by which another process opens `memory`, which is the start of an allocation.
core::Status export_memory(void* memory, protocol::MemoryHandle& handle);

class Exports {
 public:
  // Buffers are multiples of `granule` bytes, and none is larger than `largest` bytes.
  Exports(DeviceMemory memory, std::size_t granule, std::size_t largest);
  ~Exports();
  Exports(const Exports&) = delete;
  Exports& operator=(const Exports&) = delete;

  // collect() appends to `given` the buffers that are free again; answer() appends those asked for.
  core::Status collect(protocol::BuffersGiven& given);
  core::Status answer(const protocol::BuffersAsked& asked, protocol::BuffersGiven& given);
  // Notes that the peer has written to the part's buffer, and sets `bytes` to the written bytes.
  core::Status landed(const protocol::Landed::Part& part, Bytes& bytes);

  // After this call, buffers that are released are not given again.
  void stop();

  // Whether some buffers are back but not free yet.
  [[nodiscard]] bool is_waiting() const;
  // Whether the peer has no buffer open.
  [[nodiscard]] bool is_closed() const;

 private:
  class Pool;
  std::shared_ptr<Pool> pool_;  // also kept alive by buffers that are out
};

}  // namespace ripeline::runtime::cuda
