// Overlap: the ends of the tasks that an engine runs, if two may run beside each other.
//
// Alone a task takes its duration. Beside another, each takes Timing::slowdown() times as long, so
// a task's end moves when the other one starts; the ends are valid until the next start. One
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

  // The engine must run fewer than two tasks. Alone the task takes `duration`.
  void start(core::Task task, core::Time duration, core::Time now, const Timing& timing);
  // The task must be running.
  void finish(core::Task task);

  [[nodiscard]] const std::array<Running, 2>& running() const { return running_; }
  // When the engine's last task ends; if none runs, when the last one ended.
  [[nodiscard]] core::Time busy_until() const { return busy_until_; }

 private:
  std::array<Running, 2> running_;
  core::Time busy_until_{0};
};

}  // namespace ripeline::simulate
