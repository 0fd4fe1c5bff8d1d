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
  core::Time sent{0};        // when it was put in
  std::int32_t what = -1;    // a lane, an edge, or of `wake` a rank
  std::int32_t microbatch = -1;
  std::int32_t ordinal = 0;  // of a message
  Kind kind = Kind::finished;
};

class Agenda {
 public:
  [[nodiscard]] bool empty() const { return next_time() == core::Time::max(); }
  // Of the next one; Time::max() if there is none.
  [[nodiscard]] core::Time next_time() const { return heads_[next_].at; }

  // At `now` + `delay`; `now` never goes back. Field by field, not as a Happening: they stay in
  // registers, and a value that is written in small parts and read in large ones stalls.
  void put(core::Time now, core::Time delay, Happening::Kind kind, std::int32_t what,
           std::int32_t microbatch = -1, std::int32_t ordinal = 0);
  // The next one; there must be one.
  [[nodiscard]] Happening take();
  void clear();

 private:
  static constexpr std::size_t kQueues = 6;
  static constexpr std::size_t kHeap = kQueues;  // as a place

  // A ring; its size is a power of two, or 0.
  struct Queue {
    std::vector<Happening> ring;
    std::size_t mask = 0;  // the size - 1
    std::size_t first = 0;
    std::size_t count = 0;
    [[nodiscard]] Happening& at(std::size_t i) { return ring[(first + i) & mask]; }
    void grow();
  };
  // When the first of a queue or of the heap comes; of none, after everything.
  struct Head {
    core::Time at = core::Time::max();
    std::uint64_t number = ~std::uint64_t{0};
  };
  template <class A, class B>
  [[nodiscard]] static bool before(const A& a, const B& b) {
    return a.at != b.at ? a.at < b.at : a.number < b.number;
  }
  [[nodiscard]] static bool after(const Happening& a, const Happening& b) { return before(b, a); }

  [[nodiscard]] std::size_t queue_for(core::Time delay);
  void find_next();

  std::size_t next_ = kHeap;  // the place that has the next one
  Head limit_;                // the earliest of the other places
  std::array<Head, kQueues + 1> heads_;
  std::size_t used_ = 0;  // queues from here on never had anything
  std::array<core::Time, kQueues> delays_{};
  std::array<Queue, kQueues> queues_;
  std::vector<Happening> heap_;
  std::uint64_t numbers_ = 0;
};

}  // namespace ripeline::simulate
