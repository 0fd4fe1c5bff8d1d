// Overlap: when the tasks end that an engine runs, where two run beside each other.
//
// Alone a task takes its duration. Beside another, each takes Timing::slowdown() times as long, so
// that its end moves when the other one starts; what is then said holds until the next start. One
// thread; no memory is taken.
#pragma once

#include <array>

#include "simulate/timing.h"

namespace ripeline::simulate {

class Overlap {
 public:
  struct Running {
    core::Task task;  // lane -1: none
    core::Time end{0};
  };

  // It runs less than two tasks. Alone the task takes `duration`.
  void start(core::Task task, core::Time duration, core::Time now, const Timing& timing);
  // One that runs.
  void finish(core::Task task);

  [[nodiscard]] const std::array<Running, 2>& running() const { return running_; }
  // From when on it runs nothing; the time of the last end if it does not.
  [[nodiscard]] core::Time busy_until() const { return busy_until_; }

 private:
  std::array<Running, 2> running_;
  core::Time busy_until_{0};
};

}  // namespace ripeline::simulate
