// Run: this process's part in a run. It connects a Process with a Transport.
//
// The ranks of one or more programs use the Run in turn to run their steps; between steps all
// processes may gather, and between steps of two programs they must. If a wait would exceed its
// limit, the run fails and names what waits for whom. After a failure every call returns that
// failure, and the other processes are notified.
//
//   Run run(*transport);
//   InlineEngine engine(work);
//   protocol::Rank rank(arbiter, run.layout(), run.self());
//   for (…) { run.step(rank, engine, step, microbatches);  run.gather("norms", mine, all); }
//   run.finish();
//
// If ranks have several members, pass the layout, and give each process its rank's arbiter:
//
//   Run run(*transport, {.layout = core::layout_of(facts)});
//   auto arbiter = make_arbiter(run.layout().at(run.self()).rank);
//
// All calls but wake() come from one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/clock.h"
#include "runtime/protocol/process.h"
#include "runtime/transport.h"
#include "trace/about.h"

namespace ripeline::runtime::watchdog {
class CallGuard;
}

namespace ripeline::runtime {

class RunTrace;
class Termination;

struct RunOptions {
  // The layout of the processes; if nullopt, each process is a rank.
  std::optional<core::Layout> layout = std::nullopt;
  protocol::FaultLimits limits = {};
  const RankClock* clock = nullptr;  // borrowed; if null, the host's
  // If set, the run fails at SIGTERM; if null, the program handles SIGTERM itself. Borrowed.
  Termination* termination = nullptr;
};

class Run {
 public:
  // The transport is borrowed and must outlive the run.
  explicit Run(Transport& transport, RunOptions options = {});
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  [[nodiscard]] int self() const { return process_.self(); }
  [[nodiscard]] int processes() const { return process_.processes(); }
  [[nodiscard]] const core::Layout& layout() const { return process_.layout(); }
  // The monotonic clock of this host minus that of process 0, as far as it is known.
  [[nodiscard]] core::Time ahead() const { return transport_.ahead(); }

  // Runs one step of training: every task of the rank once. The engine decides whether tasks run in
  // the caller's thread or beside it (runtime/engine.h). In the caller's thread messages move only
  // between tasks; pending messages are sent before a task begins.
  core::Status step(protocol::Rank& rank, TaskEngine& engine, std::int64_t step, int microbatches);

  // The parts of step(), for a caller that decides when the loop turns (runtime/pump.h).
  core::Status begin_step(protocol::Rank& rank, TaskEngine& engine, std::int64_t step,
                          int microbatches);
  // One turn: takes the tasks that have ended, sends messages and starts tasks. Returns the step's
  // status once the step is `done` or the run has failed, else nullopt. `engine` may be null.
  std::optional<core::Status> turn(TaskEngine* engine, const std::function<bool()>& done);
  // The bytes that wait here to be sent. They move only while the loop turns.
  [[nodiscard]] std::size_t queued() const;
  // Takes the messages that have arrived. If there are none, waits until one arrives, something is
  // due or the loop is woken, but no longer than `most`.
  void receive(std::chrono::nanoseconds most);

  // Sets `all` to the bytes that each process passes as `mine`, by process. It is also the barrier
  // between steps. All processes make these calls in the same order, with the same tags.
  core::Status gather(std::string tag, Blob mine, std::vector<Blob>& all);
  // Makes the run fail, for a caller that cannot continue, and tells the other processes why.
  core::Status fail(core::Status why);
  // Ends the run. No process closes its connections before all processes have called this.
  core::Status finish(std::chrono::nanoseconds limit);
  // Does the same for a caller that may have to leave alone: waits no longer than `limit` for the
  // others to call it, either. After a timeout they take the end of this process for a loss. A
  // trace that cannot be completed is reported on standard error, and concerns nobody else.
  core::Status leave(std::chrono::nanoseconds limit);

  // Runs `work`, which may wait for other processes in its own way and must not throw, in a thread
  // of its own; messages move meanwhile. If it fails with the code `lost`, another process has
  // failed. If the run fails first, as it does when `work` takes longer than the run's limits, the
  // thread is left behind; so `work` must own all that it uses.
  core::Status run_beside(std::function<core::Status()> work);

  // For ranks that use a GPU: from this call until the run's end, the process ends if a call into a
  // driver does not return within the limit `stall` (runtime/watchdog/call_guard.h). This thread
  // and the threads of engines that it makes are guarded. A second call does nothing.
  void guard_calls();

  // Begins a trace of this process's rank (runtime/instruments.h); the run owns it. A rank whose
  // options name the trace's record opens the trace in its first step. The trace is written to disk
  // during the run. finish() closes it and joins the parts of all ranks in one file. After another
  // end of the run the parts stay, and rank 0 prints where. Returns null if a trace exists already.
  RunTrace* begin_trace(const std::string& path, trace::RunInfo about);
  [[nodiscard]] RunTrace* trace() { return trace_.get(); }

  // Wakes the loop, which then asks its engine for ended tasks. May be called from any thread.
  void wake() { transport_.wake(); }
  // The time on the clock of the options, by default the host's monotonic clock.
  [[nodiscard]] core::Time now() const {
    return options_.clock == nullptr ? RankClock::host() : options_.clock->now();
  }

 private:
  // Repeats turn() until `done`, or until the run has failed; or fails after `limit`, and then the
  // run goes on.
  core::Status run_until(TaskEngine* engine, const std::function<bool()>& done,
                         core::Time limit = core::Time::max());
  // carry_out() and take_ends() return whether a task has ended.
  bool carry_out(TaskEngine* engine);
  bool take_ends(TaskEngine* engine);
  core::Status finish_until(core::Time last);
  core::Status wait_for_all(std::chrono::nanoseconds limit, core::Time limit_of_gather);
  void send();
  void look_after_peers();
  void heed_termination();

  Transport& transport_;
  RunOptions options_;
  protocol::Process process_;
  protocol::Actions actions_;
  Ended ended_;
  std::vector<Delivery> deliveries_;
  core::Time until_{0};                         // the next turn if no message arrives
  core::Time next_look_{0};                     // the next look_after_peers()
  std::unique_ptr<watchdog::CallGuard> guard_;  // null if calls are not guarded
  std::unique_ptr<RunTrace> trace_;             // null if no trace is written
  bool is_finished_ = false;
};

}  // namespace ripeline::runtime
