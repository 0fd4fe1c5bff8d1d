// Pump: steps of training whose tasks the caller runs, one after another, in its own thread.
//
// Whoever waits turns the loop of the run: the caller does in next(), until a task may start; and a
// helper thread does while one task takes longer than `patience`, so that messages move meanwhile.
// Tasks shorter than that meet no other thread.
//
//   Pump pump(run);
//   status = pump.begin(rank, step, microbatches);
//   while (status.ok()) {
//     Call call;
//     const Pump::Next next = pump.next(call, 50ms);
//     if (next == Pump::Next::over) return pump.outcome();
//     if (next == Pump::Next::task) { …; pump.end(std::move(call), task_status); }
//   }
//
// A step is over when all that this rank has sent has left, since its caller may then wait for
// other ranks in a way of its own, in which no message moves.
//
// All calls come from one thread, and so do calls to the run. Until a step is over, the run and the
// rank belong to the pump. Tasks of all engines of the rank run one after another.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "core/status.h"
#include "runtime/engine.h"
#include "runtime/protocol/rank.h"
#include "runtime/run.h"
#include "runtime/work.h"

namespace ripeline::runtime {

class Pump {
 public:
  // The run is borrowed.
  explicit Pump(Run& run, std::chrono::microseconds patience = std::chrono::microseconds(200));
  // Waits for the helper, which never waits for long.
  ~Pump();
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;

  // Begins a step of the rank, which is borrowed until the step is over.
  core::Status begin(protocol::Rank& rank, std::int64_t step, int microbatches);

  enum class Next : std::uint8_t {
    task,     // `call` is to be run, and ended by end()
    nothing,  // the slice has passed
    over,     // the step is over, and outcome() is its status
  };
  // Called during a step, when no task runs. Waits for a task, or the end of the step, for at most
  // `slice`.
  [[nodiscard]] Next next(Call& call, std::chrono::nanoseconds slice);
  // Ends the task that next() gave, with its outputs or its failure.
  void end(Call call, core::Status status);
  // Makes the run fail during a step, for a caller that cannot continue; then the step is over. A
  // task that runs is given up.
  core::Status fail(core::Status why);

  // The status of the last step that is over.
  [[nodiscard]] const core::Status& outcome() const { return outcome_; }
  // How often the helper has turned the loop.
  [[nodiscard]] std::int64_t helped() const { return helped_; }

 private:
  // Holds the tasks that may start, until the caller takes them, and those that have ended.
  class Engine final : public TaskEngine {
   public:
    void begin_step(std::int64_t /*step*/, int /*microbatches*/) override {}
    void start(Call call) override { starts.push_back(std::move(call)); }
    void start_pair(Call first, Call second) override {
      starts.push_back(std::move(first));
      starts.push_back(std::move(second));
    }
    bool ended(Ended& out) override;

    std::deque<Call> starts;
    std::deque<Ended> ends;
  };

  // Turns the loop once, unless the step is over; returns whether it is.
  bool turn();
  // Whether all tasks have ended, and only bytes wait to be sent.
  [[nodiscard]] bool only_sends() const { return rank_->step_done(); }
  void stop_helper();
  void help();
  void help_with(std::int64_t task);

  Run& run_;
  const std::chrono::microseconds patience_;
  core::Status outcome_;

  std::mutex mutex_;  // guards the run and what follows, while a step is on
  Engine engine_;
  protocol::Rank* rank_ = nullptr;
  std::optional<core::Status> over_;

  std::int64_t tasks_ = 0;                 // how many next() has given
  core::Time began_{0};                    // when the task that runs began
  std::atomic<std::int64_t> running_ = 0;  // the number of the task that runs, from 1; or 0
  std::atomic<bool> helping_ = false;
  std::atomic<std::int64_t> helped_ = 0;

  std::mutex parked_;  // guards what follows
  std::condition_variable changed_;
  bool in_step_ = false;
  bool stop_ = false;
  std::thread helper_;  // last, since it uses the members above
};

}  // namespace ripeline::runtime
