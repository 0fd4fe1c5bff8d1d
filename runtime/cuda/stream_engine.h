// StreamEngine: tasks that run on streams of a device.
//
// The work's run() enqueues a task's computation on the stream of the task's engine, and should
// return without waiting for the device. The engine calls run() in a thread of its own, since
// enqueuing a large model takes long. A task has ended when the host has seen that the stream has
// finished it; only then do the work (Work::ended) and the rank learn this. So the outputs are
// complete, the inputs are no longer read, and the executor's rules hold for the device's work.
//
//   StreamEngine engine(work, facts, streams, [&run] { run.wake(); });
//
// A task's begin and end are times on the device, converted to the host's clock. Events have times,
// and at the start of each step the host waits for one event, which ties the two clocks together.
//
// While an enqueued task has not ended, the loop polls without sleeping. Such a task keeps the run
// alive, but is reported if it takes too long, as any task is. The destructor waits for enqueued
// tasks, since they use the work's memory (runtime/watchdog/last_wait.h). A guard of the thread
// that makes the engine also watches the engine's threads (runtime/watchdog/call_guard.h).
// Tasks are enqueued in the order of their starts. So if processes have agreed on that order, as
// the members of a rank do, a task may enqueue work that waits for the same task on the others. Any
// other task that waits for processes does so on the host, in a thread beside the enqueuing one
// (Work::runs_beside). The engine belongs to the loop's thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "core/facts.h"
#include "runtime/cuda/device.h"
#include "runtime/engine.h"

namespace ripeline::runtime::cuda {

// The stream of each engine; null for an engine on which no task runs.
using EngineStreams = std::array<cudaStream_t, core::kEngines>;

class StreamEngine final : public TaskEngine {
 public:
  // All but `wake` are borrowed. The engine's threads use the device that is current in this call.
  StreamEngine(Work& work, const core::ProgramFacts& facts, const EngineStreams& streams,
               std::function<void()> wake, BeforeTask before_task = nullptr);
  ~StreamEngine() override;
  StreamEngine(const StreamEngine&) = delete;
  StreamEngine& operator=(const StreamEngine&) = delete;

  void begin_step(std::int64_t step, int microbatches) override;
  void start(Call call) override;
  void start_pair(Call first, Call second) override;
  bool ended(Ended& out) override;
  [[nodiscard]] core::Time next() const override;

 private:
  class Launcher;
  struct Launched {
    Ended ended;
    Event begin;
    Event end;
  };
  // Whether the task has ended; if so, `launched` gets its times or its failure.
  bool look(Launched& launched);
  void collect();

  std::unique_ptr<Launcher> launcher_;
  std::unique_ptr<ThreadEngine> thread_;
  std::array<std::deque<Launched>, core::kEngines> launched_;  // in the order of their streams
  std::deque<Ended> failed_;                                   // tasks that failed to be enqueued
  std::int64_t started_ = 0;                                   // tasks started and not returned
};

}  // namespace ripeline::runtime::cuda
