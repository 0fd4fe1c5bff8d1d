// Overlap: computes when the tasks of an engine end, if two tasks may run beside each other.
//
// A task that runs alone takes its duration. Beside another task, each takes Timing::slowdown()
// times as long, so a task's end changes when the other one starts; the ends are valid until the
// next start. One thread; allocates no memory.
#pragma once

#include <array>

#include "simulate/timing.h"

namespace ripeline::simulate {

class Overlap {
 public:
  struct Running {
    core::Task task;  // lane -1 if there is none
    core::Time end{0};
  };

  // The engine must run fewer than two tasks. `duration` is the time of the task if it runs alone.
  void start(core::Task task, core::Time duration, core::Time now, const Timing& timing);
  // The task must be one that runs.
  void finish(core::Task task);

  [[nodiscard]] const std::array<Running, 2>& running() const { return running_; }
  // The latest end of all tasks that have started. If no task runs, this time has passed.
  [[nodiscard]] core::Time busy_until() const { return busy_until_; }

 private:
  std::array<Running, 2> running_;
  core::Time busy_until_{0};
};

}  // namespace ripeline::simulate
