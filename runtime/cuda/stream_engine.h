// StreamEngine: tasks that run on streams of a device.
//
// The work's run() enqueues what the task computes on the stream of the task's engine, and returns;
// it should not wait for the device. It is called in a thread of its own, since to enqueue a large
// model takes long. A task has ended when the host has seen that the stream has come past it: only
// then is it told to the work (Work::ended) and to the rank, so what it gives is complete, what it
// read is no longer read, and the executor's rules hold of what the device does.
//
//   StreamEngine engine(work, facts, streams, [&run] { run.wake(); });
//
// Begin and end of a task are those on the device, on the host's clock: events have times, and one
// whose end the host waits for ties the two clocks together at the beginning of each step.
//
// While a task is on its way the loop asks without sleeping; one that has not ended keeps the run
// alive, and is reported as any task that takes too long. What the destructor finds enqueued it
// waits for, since that uses what is the work's (runtime/last_wait.h). Its threads are watched by
// the guard of the one that makes it, if that has one (runtime/call_guard.h). The thread
// enqueues in the order of starts. So a task may enqueue what waits for the same task of other
// processes if all have agreed on the order of starts, as the members of a rank do; for all else
// that waits for others the host does, in a thread beside the first one (Work::runs_beside).
// Belongs to the loop's thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "core/facts.h"
#include "runtime/cuda/device.h"
#include "runtime/engine.h"

namespace ripeline::runtime {

// By engine; null: no task runs there.
using EngineStreams = std::array<cudaStream_t, core::kEngines>;

class StreamEngine final : public TaskEngine {
 public:
  // All but `wake` are borrowed. The thread uses the device that is current here.
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
  // Whether it has ended, with its times or its failure.
  bool look(Launched& launched);
  void collect();

  std::unique_ptr<Launcher> launcher_;
  std::unique_ptr<ThreadEngine> thread_;
  std::array<std::deque<Launched>, core::kEngines> launched_;  // in the order of their streams
  std::deque<Ended> failed_;                                   // before they were on their way
  std::int64_t started_ = 0;                                   // and not given back
};

}  // namespace ripeline::runtime
