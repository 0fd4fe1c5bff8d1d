// TaskEngine: how the tasks of a rank run while its loop moves messages.
//
// start() hands a task over and returns; ended() gives back those that have ended, with what they
// gave or why they failed. InlineEngine runs them in the loop's own thread, one after another, when
// ended() is asked: no hand-over, but no message moves while a task runs. ThreadEngine has one
// thread for its life, in which all calls of the Work are made, but for tasks that may run beside
// those of other engines (Work::runs_beside): of these each engine has another. It wakes the loop:
// a hand-over costs some 10 µs, and messages move beside the task. Which one: inline for tasks of
// microseconds, a thread for all that computes.
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
  Call call;  // if a step could not begin: without a task (its lane is -1)
  std::optional<Call> with = std::nullopt;  // the other one of a pair that the work made one
  core::Time begin{0};                      // on the engine's clock
  core::Time end{0};
  core::Status status = {};
};

class TaskEngine {
 public:
  virtual ~TaskEngine() = default;

  // Before the step's first task; if the work refuses the step, ended() says so.
  virtual void begin_step(std::int64_t step, int microbatches) = 0;
  virtual void start(Call call) = 0;
  // Two tasks of a `pair` that start at once.
  virtual void start_pair(Call first, Call second) = 0;
  // The next one that has ended; false: none.
  virtual bool ended(Ended& out) = 0;
  // When to ask again if nobody wakes the loop.
  [[nodiscard]] virtual core::Time next() const { return core::Time::max(); }
};

// Called before each task, in the thread that runs it, and may sleep: injected delays.
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
  core::Status refused_;  // the step
};

class ThreadEngine final : public TaskEngine {
 public:
  // `wake` is called in the engine's thread when a task has ended; it makes the loop ask.
  ThreadEngine(Work& work, std::function<void()> wake, BeforeTask before_task = nullptr);
  // Waits for the tasks that run: what they use is the caller's (runtime/watchdog/last_wait.h).
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
  std::array<std::unique_ptr<Thread>, core::kEngines> beside_;  // from their first tasks on
};

}  // namespace ripeline::runtime
