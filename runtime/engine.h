// TaskEngine: how the tasks of a rank run while its loop moves messages.
//
// start() hands a task over and returns; ended() returns the tasks that have ended, each with its
// outputs or its failure. InlineEngine runs tasks in the loop's own thread, one after another, when
// the loop calls ended(). This needs no hand-over, but no message moves while a task runs.
// ThreadEngine makes all calls of the Work in one thread of its own, so messages move while a task
// runs, but a hand-over costs some 10 µs. Only tasks that may run beside tasks of the rank's other
// engines (Work::runs_beside) have further threads, one for each core::Engine. ThreadEngine wakes
// the loop when a task ends. When the run fails, the step ends even while a task still runs. If
// that task waits for a lost process, the caller can then end the wait. Use InlineEngine for tasks
// of microseconds, and ThreadEngine for tasks that compute.
//
// An engine belongs to the loop's thread. The Work is borrowed; all its exceptions become statuses.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "core/status.h"
#include "core/task.h"
#include "runtime/work.h"

namespace ripeline::runtime {

struct Ended {
  Call call;  // has no task (its lane is -1) if the step could not begin
  std::optional<Call> with = std::nullopt;  // the second task of a pair that ended as one
  core::Time begin{0};                      // on the engine's clock
  core::Time end{0};
  core::Status status = {};
};

class TaskEngine {
 public:
  virtual ~TaskEngine() = default;

  // Called before the step's first task. If the work refuses the step, ended() returns the refusal.
  virtual void begin_step(std::int64_t step, int microbatches) = 0;
  virtual void start(Call call) = 0;
  // Starts the two tasks of a `pair` at once.
  virtual void start_pair(Call first, Call second) = 0;
  // Takes the next task that has ended; false if there is none.
  virtual bool ended(Ended& out) = 0;
  // The time at which the loop has to call ended() again if the loop is not woken before.
  [[nodiscard]] virtual core::Time next() const { return core::Time::max(); }
};

// Called before each task, in the task's thread. It may sleep, to inject delays.
using BeforeTask = std::function<void(const TaskInfo&)>;

class InlineEngine final : public TaskEngine {
 public:
  explicit InlineEngine(Work& work, BeforeTask before_task = nullptr);

  void begin_step(std::int64_t step, int microbatches) override;
  void start(Call call) override;
  void start_pair(Call first, Call second) override;
  bool ended(Ended& out) override;
  [[nodiscard]] core::Time next() const override;

 private:
  struct Start {
    Call call;
    std::optional<Call> with;
  };
  Work& work_;
  BeforeTask before_task_;
  std::deque<Start> starts_;
  core::Status refused_;  // why the work refused the step
};

class ThreadEngine final : public TaskEngine {
 public:
  // `wake` is called in the engine's thread when a task has ended; the loop then calls ended().
  ThreadEngine(Work& work, std::function<void()> wake, BeforeTask before_task = nullptr);
  // Waits for the running tasks, which use the caller's objects (runtime/watchdog/last_wait.h).
  ~ThreadEngine() override;
  ThreadEngine(const ThreadEngine&) = delete;
  ThreadEngine& operator=(const ThreadEngine&) = delete;

  void begin_step(std::int64_t step, int microbatches) override;
  void start(Call call) override;
  void start_pair(Call first, Call second) override;
  bool ended(Ended& out) override;

 private:
  class Thread;
  Work& work_;
  std::function<std::unique_ptr<Thread>()> make_;
  std::unique_ptr<Thread> thread_;
  std::array<std::unique_ptr<Thread>, core::kEngines> beside_;  // made at their first tasks
};

}  // namespace ripeline::runtime
