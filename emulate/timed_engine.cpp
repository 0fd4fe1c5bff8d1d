#include "emulate/timed_engine.h"

#include <algorithm>
#include <utility>

namespace ripeline::emulate {

using core::Time;
using runtime::Call;

core::Time TimedEngine::end_of(core::Task task) const {
  for (const simulate::Overlap::Running& running : overlaps_[engine_of(task)].running()) {
    if (running.task == task) return running.end;
  }
  return Time{0};
}

void TimedEngine::start(Call call) {
  const core::Task task = call.task.task;
  overlaps_[engine_of(task)].start(task, timing_.task(task), call.task.start, timing_);
  running_.push_back(std::move(call));
}

void TimedEngine::start_pair(Call first, Call second) {
  start(std::move(first));
  start(std::move(second));
}

bool TimedEngine::ended(runtime::Ended& out) {
  if (next() > clock_.now()) return false;
  const auto first = std::min_element(
      running_.begin(), running_.end(),
      [this](const Call& a, const Call& b) { return end_of(a.task.task) < end_of(b.task.task); });
  const core::Task task = first->task.task;
  out = {.call = std::move(*first), .end = end_of(task)};
  out.begin = out.call.task.start;
  running_.erase(first);
  overlaps_[engine_of(task)].finish(task);
  return true;
}

Time TimedEngine::next() const {
  Time next = Time::max();
  for (const Call& call : running_) next = std::min(next, end_of(call.task.task));
  return next;
}

}  // namespace ripeline::emulate
