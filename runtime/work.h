// Work: what a rank's tasks do. The runtime knows when; a Work knows what.
//
// One Work serves all stages of one rank; one thread calls it, one call at a time (which thread is
// its engine's business: runtime/engine.h), but for tasks that it lets run beside the others.
// Payloads are its own business: what one stage's task gives is what the tasks that need it at
// other stages get. Failures are statuses; exceptions are caught and reported with the task.
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
  std::string_view op;  // as the program names it
  core::OpKind kind = core::OpKind::plain;
  int stage = 0;
  int stages = 0;
  int microbatch = 0;
  int microbatches = 0;
  std::int64_t step = 0;
  core::Task task = {};  // as the program's facts number it
  core::Engine engine = core::Engine::compute;
  core::Time start{0};  // on the rank's clock, when the executor started it
};

// The output of a needed task at another stage. Its parts may be shared: they are only read.
struct Input {
  std::string_view op;  // the producer's
  core::OpKind kind = core::OpKind::plain;
  int stage = 0;
  int microbatch = 0;
  Payload payload;
};

// The output for tasks at another stage: for one op there, at the other end of one edge.
struct Output {
  std::string_view op;  // the consumer's
  core::OpKind kind = core::OpKind::plain;
  int stage = 0;
  core::EdgeId edge = -1;  // as the program's facts number it
  Payload payload;
};

// A task to run, with what it gets and what it is to give.
struct Call {
  TaskInfo task;
  std::vector<Input> inputs = {};
  std::vector<Output> outputs = {};

  // To all of them the same; its parts are shared.
  void give(const Payload& payload) {
    for (Output& output : outputs) output.payload = payload;
  }
};

class Work {
 public:
  virtual ~Work() = default;

  // Before the step's first task.
  virtual core::Status begin_step(std::int64_t step, int microbatches) = 0;
  // Runs the task to its end. A failure with the code `lost` is that of another process, with which
  // it computes: the run looks for whom to blame.
  virtual core::Status run(Call& call) = 0;
  // The work that run() has begun for the task is over: at once where it computes on the host, and
  // on a device when the host has seen that its stream is past it. Called once, before the rank
  // hears that the task has ended, and so before anything runs that needs it; not for a task that
  // has failed. Called in the task's thread or the loop's, beside tasks that do not need this one;
  // must not throw.
  virtual void ended(const TaskInfo& /*task*/) {}
  // Whether the task may run beside those of other engines of the rank, in a thread of its engine:
  // one that waits for others, say, or copies, and touches nothing that these do. Asked in the
  // loop's thread, at any time; must not throw.
  [[nodiscard]] virtual bool runs_beside(const TaskInfo& /*task*/) const { return false; }
  // Whether the work has something for both tasks of a `pair`, which start at once, that is faster
  // than one after the other. Then run_pair() runs them to their ends, else run() each.
  [[nodiscard]] virtual bool runs_together(const TaskInfo& /*first*/,
                                           const TaskInfo& /*second*/) const {
    return false;
  }
  virtual core::Status run_pair(Call& /*first*/, Call& /*second*/) {
    return {core::StatusCode::invalid, "this work runs no two tasks together"};
  }
};

}  // namespace ripeline::runtime
