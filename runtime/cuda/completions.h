// Completions: finds out, by events, which pieces of the work on streams are over.
//
//   completions.note(stream, number);   // after all that the stream has been given until now
//   completions.progress(over);         // appends the numbers of what is over
//
// A stream works in order, so only the first pending event of each stream is queried. Events are
// reused, and made when there are too few. Once the device has failed, all further calls fail. One
// thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "runtime/cuda/device.h"

namespace ripeline::runtime::cuda {

class Completions {
 public:
  core::Status note(cudaStream_t stream, std::uint64_t number);
  // Appends to `over` the numbers of the pieces that are over. Never blocks.
  core::Status progress(std::vector<std::uint64_t>& over);
  [[nodiscard]] bool empty() const { return pending_ == 0; }

 private:
  struct Noted {
    Event event;
    std::uint64_t number = 0;
  };
  std::map<cudaStream_t, std::deque<Noted>> noted_;
  std::size_t pending_ = 0;
  std::vector<Event> spare_;
};

}  // namespace ripeline::runtime::cuda
