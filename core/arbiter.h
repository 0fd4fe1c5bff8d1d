// Arbiter: chooses which task a rank starts next.
//
// A state machine without threads, clocks or I/O. It receives reports of ends and arrivals, lists
// the tasks that may start, and chooses one of them by the program's hint. It belongs to one rank's
// executor; one thread.
//
//   arbiter.begin_step(step, 8);
//   arbiter.on_arrived(message, now);
//   const Choice c = arbiter.choose(Engine::compute, nullptr, now);
//   if (c.starts()) arbiter.started(c.task, now);
//   ...
//   arbiter.on_finished(c.task, now);
//
// begin_step is called first. Then only on_*, expect, started and take_notices change the state;
// other calls may be repeated freely. Tasks and messages must be of this rank and of the current
// step, and each is reported once; the executor checks this.
#pragma once

#include <cstdint>
#include <vector>

#include "core/costs.h"
#include "core/facts.h"
#include "core/notice.h"
#include "core/status.h"
#include "core/task.h"
#include "core/task_set.h"

namespace ripeline::core {

struct Choice {
  enum class Kind : std::uint8_t {
    nothing,  // nothing may start: wait for an event
    start,    // start `task`
    hold,     // keep the engine idle until `until`, or until the next event
  };
  Kind kind = Kind::nothing;
  Task task;
  Time until{0};
  [[nodiscard]] bool starts() const { return kind == Kind::start; }
  bool operator==(const Choice&) const = default;
};

class Arbiter {
 public:
  virtual ~Arbiter() = default;

  [[nodiscard]] virtual const ProgramFacts& facts() const = 0;
  [[nodiscard]] virtual int rank() const = 0;

  // Forgets the previous step. Refuses a microbatch count outside the range that was proved.
  [[nodiscard]] virtual Status begin_step(std::int64_t step, int microbatches) = 0;

  virtual void on_finished(Task task, Time now) = 0;
  virtual void on_arrived(Message message, Time now) = 0;
  // Reports that the receiver has taken a rendezvous message of a task of this rank. Until then the
  // task's engine, which hands the message over, is not idle.
  virtual void on_taken(Message /*message*/, Time /*now*/) {}

  // Replaces `out` by the tasks that may start on `engine` now. For each of them, the needed tasks
  // have ended and their messages have arrived; the engine is idle or runs one task beside which it
  // may run; every resource has room; and under a committed order it is the task's turn.
  virtual void ready(Engine engine, TaskSet& out) const = 0;

  // The hint's choice among the tasks of ready(engine) that are in `allowed`; if `allowed` is null,
  // among all tasks of ready(engine).
  [[nodiscard]] virtual Choice choose(Engine engine, const TaskSet* allowed, Time now) const = 0;

  // The next task of the engine in the rank's committed order; lane -1 if the order has ended, or
  // the dispatch commits to no order.
  [[nodiscard]] virtual Task next_in_order(Engine /*engine*/) const { return {}; }

  // Calls for a hint with patience; other hints ignore them. expect() sets durations before a step;
  // take_notices() appends the notices for neighbours that were made since its last call.
  virtual void expect(const Costs& /*costs*/) {}
  virtual void on_notice(const Notice& /*notice*/, Time /*now*/) {}
  virtual void take_notices(Time /*now*/, std::vector<Notice>& /*out*/) {}

  // Reports that `task` starts; `task` must be in ready(engine).
  virtual void started(Task task, Time now) = 0;
};

}  // namespace ripeline::core
