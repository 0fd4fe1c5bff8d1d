// Run: this process's place in a run: a Process that is fed from a Transport.
//
// Workers take their turns on it, one step each; between them all processes may gather. No wait is
// longer than its limits: then what fails names what waits for whom. After a failure every call
// returns it, and the others have been told.
//
//   Run run(*transport);
//   InlineEngine engine(work);
//   Worker worker(arbiter, run, engine);
//   for (…) { worker.step(step, microbatches, report);  run.gather("norms", mine, all); }
//   run.finish();
//
// Where ranks have several members, it is told who is who, and each process has its rank's arbiter:
//
//   Run run(*transport, {.layout = core::layout_of(facts)});
//   auto arbiter = make_arbiter(run.layout().at(run.self()).rank);
//
// One thread, but for wake().
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/clock.h"
#include "runtime/process/process.h"
#include "runtime/transport.h"
#include "trace/about.h"

namespace ripeline::runtime::watchdog {
class CallGuard;
}

namespace ripeline::runtime {

class RunTrace;
class Termination;

struct RunOptions {
  // The layout of the processes; nothing: each process is a rank.
  std::optional<core::Layout> layout = std::nullopt;
  process::FaultLimits limits = {};
  const RankClock* clock = nullptr;  // borrowed; null: the host's
  // Borrowed: the run fails when the process is told to end. Null: the program sees to that.
  Termination* termination = nullptr;
};

class Run {
 public:
  // Borrowed; it must outlive the run.
  explicit Run(Transport& transport, RunOptions options = {});
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  [[nodiscard]] int self() const { return process_.self(); }
  [[nodiscard]] int processes() const { return process_.processes(); }
  [[nodiscard]] const core::Layout& layout() const { return process_.layout(); }
  // The lead of the monotonic clock here over that of process 0, as near as is known.
  [[nodiscard]] core::Time ahead() const { return transport_.ahead(); }

  // Every process gives bytes and gets those of all, by process; also the barrier between steps.
  // All call it in the same order, with the same tag.
  core::Status gather(std::string tag, Blob mine, std::vector<Blob>& all);
  // For a caller that cannot go on: tells the others why.
  core::Status fail(core::Status why);
  // The end: all processes come to it before anyone closes.
  core::Status finish(std::chrono::nanoseconds limit);

  // Something that waits for other processes in its own way: `work`, which must not throw, runs in
  // a thread of its own, and messages move meanwhile. A failure of it with the code `lost` is that
  // of another process. If the run fails first, as it does when that takes longer than its limits,
  // the thread is left behind: what `work` uses must be its own.
  core::Status run_beside(std::function<core::Status()> work);

  // From now on, until the run's end, the process ends when this thread, or one that runs tasks of
  // an engine that is made in it, does not come out of a call into a driver for as long as nothing
  // may happen (runtime/watchdog/call_guard.h). For ranks that use a GPU; a second time: nothing.
  void guard_calls();

  // Begins a trace of this process's rank (runtime/instruments.h), which the run has until its end:
  // a worker whose options name its record opens it at the first step and keeps it on disk, and
  // finish() closes it and makes one file of all ranks' parts. Of a run that ends otherwise the
  // parts stay, and rank 0 says where. Null: there is one already.
  RunTrace* begin_trace(const std::string& path, trace::Run about);
  [[nodiscard]] RunTrace* trace() { return trace_.get(); }

  // A step of the rank, which has begun it, on the engine: a Worker's business.
  core::Status run_step(process::Rank& rank, TaskEngine& engine);
  // Makes the loop ask its engine. From any thread.
  void wake() { transport_.wake(); }
  // On the host's monotonic clock.
  [[nodiscard]] core::Time now() const {
    return options_.clock == nullptr ? RankClock::host() : options_.clock->now();
  }

 private:
  // Until `done`, or until the run has failed. The engine may be null.
  core::Status run_until(TaskEngine* engine, const std::function<bool()>& done);
  // Both: whether a task has ended.
  bool carry_out(TaskEngine* engine);
  bool take_ends(TaskEngine* engine);
  core::Status finish_until(core::Time last);
  core::Status finish_all(std::chrono::nanoseconds limit);
  void send();
  void receive(std::chrono::nanoseconds wait);
  void look_after_peers();
  void heed_termination();

  Transport& transport_;
  RunOptions options_;
  process::Process process_;
  process::Actions actions_;
  Ended ended_;
  std::vector<Delivery> deliveries_;
  core::Time next_look_{0};                     // after the peers
  std::unique_ptr<watchdog::CallGuard> guard_;  // null: nothing is guarded
  std::unique_ptr<RunTrace> trace_;             // null: none
  bool is_finished_ = false;
};

}  // namespace ripeline::runtime
