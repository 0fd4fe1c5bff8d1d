#include "emulate/timed_engine.h"

#include <algorithm>
#include <utility>

namespace ripeline::emulate {

using core::Time;
using runtime::Call;

void TimedEngine::start(Call call) {
  const core::Task task = call.task.task;
  const Time now = call.task.start;
  simulate::Overlap& overlap = overlaps_[engine_of(task)];
  // A task that has ended by now does not slow others down, even if its end was not yet fetched.
  for (const Running& running : running_) {
    if (running.end <= now) overlap.finish(running.call.task.task);
  }
  overlap.start(task, timing_.task(task), now, timing_);
  running_.push_back({.call = std::move(call)});
  for (Running& running : running_) {
    for (const simulate::Overlap::Running& beside : overlap.running()) {
      if (beside.task == running.call.task.task) running.end = beside.end;
    }
  }
}

void TimedEngine::start_pair(Call first, Call second) {
  start(std::move(first));
  start(std::move(second));
}

bool TimedEngine::ended(runtime::Ended& out) {
  if (next() > clock_.now()) return false;
  const auto first =
      std::min_element(running_.begin(), running_.end(),
                       [](const Running& a, const Running& b) { return a.end < b.end; });
  out = {.call = std::move(first->call), .end = first->end};
  out.begin = out.call.task.start;
  running_.erase(first);
  overlaps_[engine_of(out.call.task.task)].finish(out.call.task.task);
  return true;
}

Time TimedEngine::next() const {
  Time next = Time::max();
  for (const Running& running : running_) next = std::min(next, running.end);
  return next;
}

}  // namespace ripeline::emulate
