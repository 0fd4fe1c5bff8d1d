#include "simulate/overlap.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ripeline::simulate {
namespace {

using core::Time;

struct Part {
  Time alone{0};  // the remaining time if it ran alone
  double slowdown = 1;
};

Time scaled(Time time, double factor) {
  return Time{std::llround(static_cast<double>(time.count()) * factor)};
}

// The remaining times of both. Until one task ends, each has its slowdown; then the other has none.
std::pair<Time, Time> together(const Part& a, const Part& b) {
  const Time end_a = scaled(a.alone, a.slowdown);
  const Time end_b = scaled(b.alone, b.slowdown);
  if (end_a == end_b) return {end_a, end_b};
  if (end_b < end_a) {
    const auto [end, other] = together(b, a);
    return {other, end};
  }
  return {end_a, end_a + std::max(Time{0}, b.alone - scaled(end_a, 1 / b.slowdown))};
}

}  // namespace

void Overlap::start(core::Task task, Time duration, Time now, const Timing& timing) {
  Running& other = running_[running_[0].task.lane >= 0 ? 0 : 1];
  Running& added = running_[&other == &running_[0] ? 1 : 0];
  added = {task, now + duration};
  if (other.task.lane >= 0) {
    // The other task was alone just before, so if it stays alone, it needs `other.end` - `now`.
    const auto [mine, its] =
        together({duration, timing.slowdown(task.lane, other.task.lane)},
                 {other.end - now, timing.slowdown(other.task.lane, task.lane)});
    added.end = now + mine;
    other.end = now + its;
    busy_until_ = std::max(added.end, other.end);
  } else {
    busy_until_ = added.end;
  }
}

void Overlap::finish(core::Task task) {
  for (Running& running : running_) {
    if (running.task == task) running = {};
  }
}

}  // namespace ripeline::simulate
