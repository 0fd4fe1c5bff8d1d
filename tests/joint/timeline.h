// Timeline: one queue of events with a virtual clock, for all processes of a run.
//
// Events that are due at the same instant happen in random order. Nothing depends on a real clock,
// so the same seed gives the same run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tests/joint/random.h"

namespace ripeline::joint {

class Timeline {
 public:
  using Action = std::function<void()>;
  explicit Timeline(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] core::Time now() const { return now_; }
  // The number of events that have happened.
  [[nodiscard]] std::int64_t count() const { return count_; }

  void at(core::Time when, Action action) {
    events_.push_back({std::max(when, now_), random_.bits(), std::move(action)});
    std::push_heap(events_.begin(), events_.end(), is_later);
  }
  void after(core::Time delay, Action action) { at(now_ + delay, std::move(action)); }

  // Runs the next event; returns false if there is none.
  bool step() {
    if (events_.empty()) return false;
    std::pop_heap(events_.begin(), events_.end(), is_later);
    Event event = std::move(events_.back());
    events_.pop_back();
    now_ = event.when;
    ++count_;
    event.action();
    return true;
  }

 private:
  struct Event {
    core::Time when;
    std::uint64_t tie;
    Action action;
  };
  static bool is_later(const Event& a, const Event& b) {
    return a.when != b.when ? a.when > b.when : a.tie > b.tie;
  }

  Random random_;
  core::Time now_{0};
  std::int64_t count_ = 0;
  std::vector<Event> events_;  // a heap
};

}  // namespace ripeline::joint
