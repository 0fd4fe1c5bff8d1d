// Agenda: what happens when, on a virtual clock.
//
// Events come out by time, those of one time in the order in which they were put in: runs are
// deterministic. Most delays of a run are the same few, so that the events of one delay come in the
// order of their times: a delay takes a queue that is empty, and only when there is none the heap.
// Memory grows to the most events that are due at once, then stays. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/task.h"

namespace ripeline::simulate {

struct Happening {
  enum class Kind : std::uint8_t { finished, arrived, announced, granted, noticed, wake };
  core::Time at{0};
  std::uint64_t number = 0;  // in the order of putting in
  core::Time sent{0};        // of a message that arrives
  std::int32_t what = -1;    // a lane, an edge, or of `wake` a rank
  std::int32_t microbatch = -1;
  std::int32_t ordinal = 0;  // of a message
  Kind kind = Kind::finished;
};

class Agenda {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // Of the next one; there must be one.
  [[nodiscard]] core::Time next_time() const { return next().at; }

  // At `now` + `delay`; `now` never goes back.
  void put(core::Time now, core::Time delay, Happening happening);
  Happening take();
  void clear();

 private:
  static constexpr std::size_t kQueues = 6;
  static constexpr std::size_t kHeap = kQueues;  // as a place

  // A ring; its size is a power of two.
  struct Queue {
    core::Time delay{-1};
    std::vector<Happening> ring;
    std::size_t first = 0;
    std::size_t count = 0;
    [[nodiscard]] const Happening& front() const { return ring[first & (ring.size() - 1)]; }
    void push(const Happening& happening);
  };

  [[nodiscard]] static bool before(const Happening& a, const Happening& b) {
    return a.at != b.at ? a.at < b.at : a.number < b.number;
  }
  [[nodiscard]] const Happening& next() const {
    return next_ == kHeap ? heap_.front() : queues_[next_].front();
  }
  [[nodiscard]] std::size_t queue_for(core::Time delay);
  void find_next();

  std::array<Queue, kQueues> queues_;
  std::vector<Happening> heap_;
  std::size_t used_ = 0;  // queues from here on never had anything
  std::size_t next_ = kHeap;
  std::size_t size_ = 0;
  std::uint64_t numbers_ = 0;
};

}  // namespace ripeline::simulate
