// RunningTasks: the lanes of what an engine runs.
//
// Nothing, one task, or two whose ops are a pair. A value.
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

  // The last to start of what runs; -1: nothing.
  [[nodiscard]] LaneId lane() const { return lane_; }
  // Whether the engine might take another task; false settles it for all of them.
  [[nodiscard]] bool may_take(const ProgramFacts& facts) const {
    return lane_ < 0 || (other_ < 0 && !facts.pairs.empty());
  }
  // Whether one of `lane`, which is on this engine, may run beside what runs.
  [[nodiscard]] bool takes(LaneId lane, const ProgramFacts& facts) const {
    return may_take(facts) && (lane_ < 0 || facts.are_pair(lane, lane_));
  }

 private:
  LaneId lane_ = -1;
  LaneId other_ = -1;  // beside it
};

}  // namespace ripeline::core
