// Work: what a rank's tasks do. The runtime knows when; a Work knows what.
//
// One Work serves all stages of one rank; it is called from the rank's thread, one call at a time.
// Payloads are its own business: what one stage's task returns is what the tasks that need it at
// other stages get. Failures are statuses; exceptions of user code are caught by the worker and
// reported with the task.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/facts.h"
#include "core/status.h"
#include "runtime/transport/transport.h"

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
  core::Time start{0};   // on the worker's clock
};

// What a needed task at another stage returned.
struct Input {
  std::string_view op;  // of the producer
  core::OpKind kind = core::OpKind::plain;
  int stage = 0;
  int microbatch = 0;
  Payload payload;
};

// A task to run, with what it gets and what it gives: the arguments of Work::run().
struct Call {
  TaskInfo task;
  std::vector<Input> inputs;
  bool wanted = false;
  Payload output;
};

class Work {
 public:
  virtual ~Work() = default;

  virtual core::Status begin_step(std::int64_t step, int microbatches) = 0;
  // Runs the task to its end. `output` goes to every task at another stage that needs this one; it
  // is left alone when `wanted` is false.
  virtual core::Status run(const TaskInfo& task, std::span<Input> inputs, bool wanted,
                           Payload& output) = 0;
  // Of two tasks of a `pair` that start at once: whether the work has something for both that is
  // faster than one after the other. Then run_pair() runs them to their ends, else run() each.
  [[nodiscard]] virtual bool runs_together(const TaskInfo& /*first*/,
                                           const TaskInfo& /*second*/) const {
    return false;
  }
  virtual core::Status run_pair(Call& /*first*/, Call& /*second*/) {
    return {core::StatusCode::invalid, "this work runs no two tasks together"};
  }
  // For work that goes on by itself when run() has returned, as a kernel on a GPU does: it says
  // when on the worker's clock the task ends. Until then its engine is busy and the worker does
  // other things. Nothing: the task has ended. Asked after each run() for every task that goes on,
  // since one that starts beside another may move the other's end; a time that is over counts.
  [[nodiscard]] virtual std::optional<core::Time> ends(core::Task /*task*/) const {
    return std::nullopt;
  }
};

}  // namespace ripeline::runtime
