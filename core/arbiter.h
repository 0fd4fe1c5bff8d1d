// Arbiter: which task a rank starts next.
//
// A state machine without threads, clocks or I/O. It learns what finished and what arrived, offers
// what may start, and chooses among that by the program's hint. Its owner is one rank's executor;
// one thread.
//
//   arbiter.begin_step(step, 8);
//   arbiter.on_arrived(message, now);
//   const Choice c = arbiter.choose(Engine::compute, nullptr, now);
//   if (c.starts()) arbiter.started(c.task, now);
//   ...
//   arbiter.on_finished(c.task, now);
//
// begin_step comes first. Only on_*, started and take_notices change the state: asking twice
// changes nothing. Tasks and messages must be of this rank and of the current step, each reported
// once; the executor checks that.
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
    hold,     // keep the engine idle until `until`, or until an event comes
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

  // Forgets the step before. Refuses a count outside the range that was proved.
  [[nodiscard]] virtual Status begin_step(std::int64_t step, int microbatches) = 0;

  virtual void on_finished(Task task, Time now) = 0;
  virtual void on_arrived(Message message, Time now) = 0;
  // A rendezvous message that a task of this rank has sent was taken; until then its engine, which
  // hands it over, is not idle.
  virtual void on_taken(Message /*message*/, Time /*now*/) {}

  // Replaces `out` by the tasks that may start on `engine` now: needs met and arrived, the
  // engine idle or running a pair of theirs alone, room in every resource, and its turn under a
  // committed order.
  virtual void ready(Engine engine, TaskSet& out) const = 0;

  // The hint's choice among ready(engine), or among those of it that are in `allowed` if that is
  // not null.
  [[nodiscard]] virtual Choice choose(Engine engine, const TaskSet* allowed, Time now) const = 0;

  // The next task of the engine in the rank's committed order; lane -1: the order has ended, or the
  // dispatch commits to none.
  [[nodiscard]] virtual Task next_in_order(Engine /*engine*/) const { return {}; }

  // For a hint with patience: what tasks and messages take, before a step; what neighbours say; and
  // what to tell them, appended since the last call. Other hints have no use for them.
  virtual void expect(const Costs& /*costs*/) {}
  virtual void on_notice(const Notice& /*notice*/, Time /*now*/) {}
  virtual void take_notices(Time /*now*/, std::vector<Notice>& /*out*/) {}

  // `task` is in ready(engine) and starts.
  virtual void started(Task task, Time now) = 0;
};

}  // namespace ripeline::core
