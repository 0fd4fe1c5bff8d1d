// Worker: one rank's loop. It feeds an Executor from a Transport and runs its tasks with a Work.
//
// Single-threaded: a task runs to its end in the caller's thread; between tasks the transport is
// progressed, and the worker blocks in it when nothing may start. Hence the engines of a rank take
// turns: tasks of copy engines run when the executor starts them, between those of compute, and
// none runs beside another; but of a pair that starts at once the work may make one
// (Work::run_pair). What is granted to others leaves before a task, not during it. Of a Work whose
// tasks go on by themselves (Work::ends) none of this holds: engines run beside each other, and
// messages move meanwhile. No wait is longer than `silence`: then step() fails and names what waits
// for whom.
//
// A hint that waits is told what tasks take, exchanges notices with its neighbours as messages
// without a payload of the work's, and is asked again when the time has come until which it holds.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/costs.h"
#include "core/executor.h"
#include "runtime/clock.h"
#include "runtime/transport/transport.h"
#include "runtime/work.h"
#include "trace/record.h"

namespace ripeline::runtime {

// Sees what a worker's rank does, as it does it, on the worker's clock. Called in the worker's
// thread.
class WorkerObserver {
 public:
  virtual ~WorkerObserver() = default;
  virtual void arrived(const Envelope& envelope, core::Time at) = 0;  // a message of a task
  virtual void started(core::Task task, core::Time at) = 0;
  virtual void finished(core::Task task, core::Time at) = 0;
  // The executor was asked at `now`, and its commands were carried out.
  virtual void polled(core::Time now, const core::Executor& executor,
                      std::span<const core::Command> commands) = 0;
};

struct WorkerOptions {
  std::chrono::nanoseconds silence = std::chrono::seconds(120);  // the longest wait for any event
  trace::Record* trace = nullptr;                                // borrowed; null: none
  // Called before each task and may sleep: injected compute delays. Null: none.
  std::function<void(core::Task, const TaskInfo&)> before_task;
  // What tasks and messages take, on the clock: a profile, say, for a hint that waits. Nothing:
  // what the rank's tasks took on average in the step before, and nothing in the first step.
  std::optional<core::Costs> costs = std::nullopt;
  const RankClock* clock = nullptr;    // borrowed; null: the host's
  WorkerObserver* observer = nullptr;  // borrowed; null: none
};

struct StepReport {
  std::chrono::nanoseconds duration{0};  // from begin_step until this rank is done with the step
  std::chrono::nanoseconds busy{0};      // inside tasks, injected delays included
  std::int64_t tasks = 0;
};

class Worker {
 public:
  // All are borrowed and must outlive the worker. `arbiter.rank()` is `transport.rank()`.
  Worker(core::Arbiter& arbiter, Transport& transport, Work& work, WorkerOptions options = {});
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // One step of training: every task of this rank once. On failure the peers are told
  // (Transport::abandon) and the status says what this rank waited for.
  core::Status step(std::int64_t step, int microbatches, StepReport& report);

  [[nodiscard]] const core::Ledger& ledger() const { return ledger_; }
  // The tasks of the last step in the order in which they started.
  [[nodiscard]] const std::vector<core::Task>& started() const { return started_; }
  // Who waits for what, as core::Executor says it.
  [[nodiscard]] std::string waiting(int lines) const { return executor_.waiting(lines); }

 private:
  // Of which step, over which edge, for which microbatch.
  using Key = std::tuple<std::int64_t, core::EdgeId, std::int32_t>;

  // A task that goes on by itself.
  struct Running {
    core::Task task;
    core::Time begin{0};
    core::Time end{0};
    Payload output;
  };
  // What was done with the commands of a poll.
  struct Turn {
    bool ran = false;  // a task, to its end
    core::Time hold = core::Time::max();
  };

  // Asks the executor once, and carries out what it commands.
  core::Status take_turn(Turn& turn, StepReport& report);
  // A task that starts: runs, or goes on by itself.
  core::Status run(Call& call, StepReport& report);
  // Two that start at once, as one.
  core::Status run_pair(Call& first, Call& second, StepReport& report);
  core::Status send_due();  // messages alone
  [[nodiscard]] bool is_pair(std::size_t command) const;
  void prepare(core::Task task, Call& call);
  void begin(Call& call);
  core::Status ended(Running run, StepReport& report);
  // Of the tasks that go on by themselves, those whose time has come.
  core::Status end_tasks(StepReport& report);
  [[nodiscard]] core::Time next_end() const;
  void tell_costs();
  core::Status send(const core::Command& command);
  // The payloads that a task that starts gets.
  void take_inputs(core::Task task, std::vector<Input>& inputs);
  core::Status receive(std::chrono::nanoseconds wait, bool& received);
  core::Status accept(Delivery& delivery);
  core::Status begin_step(std::int64_t step, int microbatches);
  core::Status fail(core::Status status);
  // Of the host's monotonic clock, so that the traces of its ranks fit together.
  [[nodiscard]] core::Time now() const {
    return options_.clock == nullptr ? RankClock::host() : options_.clock->now();
  }

  core::Arbiter& arbiter_;
  const core::ProgramFacts& facts_;
  Transport& transport_;
  Work& work_;
  WorkerOptions options_;
  core::OneMember agreement_;
  core::Ledger ledger_;
  core::Executor executor_;
  int microbatches_ = 0;
  std::vector<std::vector<core::EdgeId>> inputs_of_;   // per lane: edges that carry a payload to it
  std::vector<std::vector<core::EdgeId>> outputs_of_;  // per lane: edges that carry its output
  std::map<Key, Payload> mailbox_;  // arrived, handed over or to be sent; not yet taken
  std::vector<core::Task> started_;
  std::vector<int> tasks_left_;          // per lane, to start
  std::vector<core::Command> commands_;  // of the last poll
  std::vector<core::Command> due_;       // between two tasks of it
  std::vector<Delivery> deliveries_;
  std::array<Call, 2> calls_;        // of those that start
  std::vector<Running> running_;     // of each engine one, or a pair
  std::vector<core::Time> took_;     // per lane: its tasks of this step, together
  std::vector<std::int64_t> ended_;  // per lane: in this step
};

}  // namespace ripeline::runtime
