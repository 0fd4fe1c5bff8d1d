// Agenda: the coming events on a virtual clock, sorted by time.
//
// Events are taken by time, and at equal times in the order in which they were added, so runs are
// deterministic. Most events of a run have one of a few delays, and events with equal delays are
// added in the order of their times. So each new delay gets an empty queue, or uses the heap if
// none is empty. Memory grows to the most pending events, then stays constant. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/task.h"

namespace ripeline::simulate {

struct AgendaEvent {
  enum class Kind : std::uint8_t { finished, arrived, announced, granted, noticed, wake };
  core::Time at{0};
  std::uint64_t number = 0;  // numbers events in the order in which they were added
  core::Time sent{0};        // the time at which it was added
  std::int32_t what = -1;    // a lane or an edge; for `wake`, a rank
  std::int32_t microbatch = -1;
  std::int32_t ordinal = 0;  // the ordinal of a message
  Kind kind = Kind::finished;
};

class Agenda {
 public:
  Agenda() { clear(); }

  [[nodiscard]] bool empty() const { return heads_[next_] == kNever; }
  [[nodiscard]] std::size_t size() const { return numbers_ - taken_; }
  // The time of the next event; Time::max() if there is none.
  [[nodiscard]] core::Time next_time() const {
    return core::Time{static_cast<std::int64_t>(heads_[next_] >> 64U)};
  }

  // Adds an event at `now` + `delay`. The delay is at least 0, and `now` never decreases. Takes
  // single fields, not an AgendaEvent, because fields stay in registers, while a struct that is
  // written in small parts and read in large ones stalls the processor.
  void put(core::Time now, core::Time delay, AgendaEvent::Kind kind, std::int32_t what,
           std::int32_t microbatch = -1, std::int32_t ordinal = 0) {
    const core::Time at = now + delay;
    const std::uint64_t number = numbers_++;
    const std::size_t place = queue_for(delay);
    AgendaEvent& h = place == kHeap ? heap_end() : queues_[place].add();
    h.at = at;
    h.number = number;
    h.sent = now;
    h.what = what;
    h.microbatch = microbatch;
    h.ordinal = ordinal;
    h.kind = kind;
    if (place == kHeap) sift();
    const When when = when_of(at, number);
    if (when >= heads_[place]) return;  // returns here in most calls
    heads_[place] = when;
    if (when < heads_[next_]) next_ = place;
  }
  // Takes the next event; there must be one.
  [[nodiscard]] AgendaEvent take() {
    ++taken_;
    if (next_ == kHeap) return take_from_heap();
    Queue& queue = queues_[next_];
    const AgendaEvent taken = queue.at(0);
    ++queue.first;
    --queue.count;
    heads_[next_] = queue.count == 0 ? kNever : when_of(queue.at(0).at, queue.at(0).number);
    find_next();
    return taken;
  }
  void clear();

 private:
  // A time in the high bits and a number in the low bits, compared as one value.
  __extension__ using When = unsigned __int128;
  static constexpr When kNever = static_cast<When>(core::Time::max().count()) << 64U |
                                 std::numeric_limits<std::uint64_t>::max();
  static constexpr std::size_t kQueues = 6;
  static constexpr std::size_t kHeap = kQueues;  // the index of the heap, after the queues

  // A ring; its size is a power of two, or 0.
  struct Queue {
    std::vector<AgendaEvent> ring;
    std::size_t size = 0;
    std::size_t first = 0;
    std::size_t count = 0;
    [[nodiscard]] AgendaEvent& at(std::size_t i) { return ring[(first + i) & (size - 1)]; }
    [[nodiscard]] AgendaEvent& add() {
      if (count == size) grow();
      return at(count++);
    }
    void grow();
  };

  [[nodiscard]] static When when_of(core::Time at, std::uint64_t number) {
    return static_cast<When>(at.count()) << 64U | number;
  }
  struct After {  // a type, so that the heap's algorithms are inlined
    bool operator()(const AgendaEvent& a, const AgendaEvent& b) const {
      return when_of(a.at, a.number) > when_of(b.at, b.number);
    }
  };

  // The index of the queue for this delay, else of an empty queue, else of the heap.
  [[nodiscard]] std::size_t queue_for(core::Time delay) {
    for (std::size_t i = 0; i < used_; ++i) {
      if (delays_[i] == delay) return i;
    }
    return empty_queue(delay);
  }
  [[nodiscard]] std::size_t empty_queue(core::Time delay);
  [[nodiscard]] AgendaEvent& heap_end();
  void sift();
  [[nodiscard]] AgendaEvent take_from_heap();
  void find_next() {
    When first = heads_[kHeap];
    next_ = kHeap;
    for (std::size_t i = 0; i < used_; ++i) {
      next_ = heads_[i] < first ? i : next_;
      first = std::min(first, heads_[i]);
    }
  }

  std::size_t next_ = kHeap;             // the index of the queue that has the next event
  std::array<When, kQueues + 1> heads_;  // per queue, when its first event is due
  std::size_t used_ = 0;                 // the number of queues that were ever used
  std::array<core::Time, kQueues> delays_{};
  std::array<Queue, kQueues> queues_;
  std::vector<AgendaEvent> heap_;
  std::uint64_t numbers_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace ripeline::simulate
