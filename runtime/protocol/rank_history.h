// RankHistory: records what a rank does, for a trace, for an observer, and for people who ask why
// the rank waits. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "core/executor.h"
#include "runtime/transport.h"
#include "trace/record.h"

namespace ripeline::runtime::protocol {

// An observer is called for each event of a rank as it happens, with times on the rank's clock.
class RankObserver {
 public:
  virtual ~RankObserver() = default;
  // A message of a task has arrived.
  virtual void arrived(const signals::Data& data, core::Time sent, core::Time at) = 0;
  virtual void started(core::Task task, core::Time at) = 0;
  virtual void finished(core::Task task, core::Time at) = 0;
  // The executor was polled at `now`, and returned these commands.
  virtual void polled(core::Time now, const core::Executor& executor,
                      std::span<const core::Command> commands) = 0;
  // The rank sends the messages of these commands between two tasks, outside of a poll.
  virtual void sent(core::Time /*now*/, std::span<const core::Command> /*commands*/) {}
};

class RankHistory {
 public:
  // All arguments are borrowed. `trace` and `observer` may be null.
  RankHistory(const core::ProgramFacts& facts, trace::Record* trace, RankObserver* observer)
      : facts_(facts), trace_(trace), observer_(observer) {}

  void begin_step() { started_.clear(); }
  void arrived(const signals::Data& data, core::Time sent, core::Time came);
  void started(core::Task task, core::Time now);
  // `chosen` is when the executor chose the task, `begin` when the task began.
  void ended(std::int64_t step, core::Task task, core::Time chosen, core::Time begin,
             core::Time end);
  void polled(core::Time now, const core::Executor& executor,
              std::span<const core::Command> commands);
  void sent(core::Time now, std::span<const core::Command> commands);

  [[nodiscard]] const trace::Record* trace() const { return trace_; }
  // The tasks of the step, in the order in which they started.
  [[nodiscard]] const std::vector<core::Task>& started() const { return started_; }
  // Describes the last events, the latest first, for people.
  [[nodiscard]] std::string last_events(core::Time now) const;

 private:
  struct LastEvent {
    const char* what;
    core::Task task;
    core::Time at;
  };
  void note(const char* what, core::Task task, core::Time at);

  const core::ProgramFacts& facts_;
  trace::Record* trace_;
  RankObserver* observer_;
  std::vector<core::Task> started_;
  std::deque<LastEvent> last_;
};

}  // namespace ripeline::runtime::protocol
