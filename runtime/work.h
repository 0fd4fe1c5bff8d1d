// Work: what a rank's tasks do. The runtime decides when each task runs.
//
// One Work serves all stages of one rank. One thread, which the engine chooses (runtime/engine.h),
// makes all calls, except for tasks that the Work lets run beside others. The Work decides what
// payloads hold; a task's inputs are the outputs of the tasks that it needs at other stages.
// Failures are statuses; exceptions are caught and reported with the task.
//
//   core::Status run(Call& call) override {
//     call.give(call.inputs.empty() ? first() : next(call.inputs[0].payload));
//     return {};
//   }
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/facts.h"
#include "core/status.h"
#include "runtime/payload.h"

namespace ripeline::runtime {

// A task as the work sees it.
struct TaskInfo {
  std::string_view op;  // its name in the program
  core::OpKind kind = core::OpKind::plain;
  int stage = 0;
  int stages = 0;
  int microbatch = 0;
  int microbatches = 0;
  std::int64_t step = 0;
  core::Task task = {};  // its number in the program's facts
  core::Engine engine = core::Engine::compute;
  core::Time start{0};  // on the rank's clock, when the executor started it
};

// The output of a needed task at another stage. Its parts may be shared: they must only be read.
struct Input {
  std::string_view op;  // the producer's
  core::OpKind kind = core::OpKind::plain;
  int stage = 0;
  int microbatch = 0;
  Payload payload;
};

// An output for the tasks of one op at another stage; one edge leads to that op.
struct Output {
  std::string_view op;  // the consumer's
  core::OpKind kind = core::OpKind::plain;
  int stage = 0;
  core::EdgeId edge = -1;  // its number in the program's facts
  Payload payload;
};

// A task to run, with its inputs and with the outputs that it must fill.
struct Call {
  TaskInfo task;
  std::vector<Input> inputs = {};
  std::vector<Output> outputs = {};

  // Sets all outputs to the same payload; they share its parts.
  void give(const Payload& payload) {
    for (Output& output : outputs) output.payload = payload;
  }
};

class Work {
 public:
  virtual ~Work() = default;

  // Called before the step's first task.
  virtual core::Status begin_step(std::int64_t step, int microbatches) = 0;
  // Runs the task to its end. The code `lost` means that another process, which computes with this
  // one, has failed; the run then looks for the process that has caused this.
  virtual core::Status run(Call& call) = 0;
  // Called when the work that run() has begun for the task is over. On the host this is at once; on
  // a device it is when the host has seen that the device's stream has finished the work. Called
  // once, before the rank learns that the task has ended, and so before any task that needs it
  // runs. Not called for a task that has failed. The call is made in the task's thread or the
  // loop's, while tasks that do not need this one may run. It must not throw.
  virtual void ended(const TaskInfo& /*task*/) {}
  // Whether the task may run in its engine's own thread, beside tasks of the rank's other engines.
  // An example is a task that waits for other processes, or copies, and touches nothing that those
  // tasks touch. Asked in the loop's thread, at any time; must not throw.
  [[nodiscard]] virtual bool runs_beside(const TaskInfo& /*task*/) const { return false; }
  // Whether the work can run both tasks of a `pair`, which start at once, faster than one after the
  // other. If so, run_pair() runs both to their ends, otherwise run() runs each.
  [[nodiscard]] virtual bool runs_together(const TaskInfo& /*first*/,
                                           const TaskInfo& /*second*/) const {
    return false;
  }
  virtual core::Status run_pair(Call& /*first*/, Call& /*second*/) {
    return {core::StatusCode::invalid, "this work runs no two tasks together"};
  }
};

}  // namespace ripeline::runtime
