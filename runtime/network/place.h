// Place: where the parts of the messages that arrive are put.
//
// A transport asks for room when it knows how long a part is, and fills it as the bytes come. The
// room is free again when the last copy of the keeper ends; then another message may get it.
// HostPlace is ordinary memory. Messages of a pipeline have the same few sizes again and again, so
// that after the first step nothing is allocated, zeroed or mapped anew.
#pragma once

#include <cstddef>
#include <memory>

#include "core/vocabulary/task.h"
#include "runtime/payload.h"

namespace ripeline::runtime::network {

class Place {
 public:
  virtual ~Place() = default;
  // `size` bytes for a part of a message of this edge (-1: of none), aligned to 64 and not set to
  // anything. `data` is null when there is no such room. Called by the transport's thread.
  virtual Bytes take(core::EdgeId edge, std::size_t size) = 0;
};

class HostPlace final : public Place {
 public:
  // Where its buffers come from, and go to in the end. `take` gives null where there is none; both
  // may be called in any thread.
  struct Memory {
    void* (*take)(std::size_t size);
    void (*give)(void* buffer);
  };
  HostPlace();
  explicit HostPlace(const Memory& memory);
  Bytes take(core::EdgeId edge, std::size_t size) override;

  // Bytes of buffers that are out, and of those that wait to be taken: never more than twice what
  // was out at once.
  [[nodiscard]] std::size_t taken() const;
  [[nodiscard]] std::size_t free() const;

 private:
  class Pool;
  std::shared_ptr<Pool> pool_;  // buffers that are out keep it
};

}  // namespace ripeline::runtime::network
