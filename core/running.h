// RunningTasks: the lanes of the tasks that an engine runs.
//
// There are none, one, or two whose ops are a pair. A value.
#pragma once

#include "core/facts.h"

namespace ripeline::core {

class RunningTasks {
 public:
  void start(LaneId lane) {
    other_ = lane_;
    lane_ = lane;
  }
  void end(LaneId lane) {
    if (lane_ == lane) lane_ = other_;
    other_ = -1;
  }

  // Among the running tasks, the lane of the one that started last; -1 if none runs.
  [[nodiscard]] LaneId lane() const { return lane_; }
  // Whether the engine might take another task; if false, it takes no task of any lane.
  [[nodiscard]] bool may_take(const ProgramFacts& facts) const {
    return lane_ < 0 || (other_ < 0 && !facts.pairs.empty());
  }
  // Whether a task of `lane`, which is on this engine, may run beside the running tasks.
  [[nodiscard]] bool takes(LaneId lane, const ProgramFacts& facts) const {
    return may_take(facts) && (lane_ < 0 || facts.are_pair(lane, lane_));
  }

 private:
  LaneId lane_ = -1;
  LaneId other_ = -1;  // the lane of the other running task
};

}  // namespace ripeline::core
