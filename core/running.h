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

  // The lane of the running task that started last; -1 if no task runs.
  [[nodiscard]] LaneId lane() const { return lane_; }
  // If false, the engine can take no task of any lane; if true, takes() decides for each lane.
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
