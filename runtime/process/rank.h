// Rank: one rank's part of a program, without I/O: the executor, the payloads that wait for their
// task or their way, and what the tasks' calls are made of.
//
// Events in, actions out: no thread, clock, socket or tensor. A Process (runtime/process/process.h)
// gives it what concerns it.
//
//   rank.begin_step(step, microbatches, now);
//   for (;;) {
//     rank.poll(now, actions);        // send, start
//     …                               // delivered(), ended()
//     if (rank.step_done()) break;
//   }
//
// What a peer sends is checked before it is believed: a message must come from the rank at the
// other end of its edge. A rank is done with a step when all to which it sends have begun it, too:
// nobody keeps messages of more than the next step, however one-sided the program is, and nothing
// of a step but notices comes when another program has its turn. With that they say how many
// microbatches they have in it, and ranks that differ fail at once. All fail by status; after the
// first failure the rank is of no use. Borrowed things must outlive it. One thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/costs.h"
#include "core/executor.h"
#include "core/layout.h"
#include "runtime/engine.h"
#include "runtime/process/outgoing.h"
#include "trace/record.h"

namespace ripeline::runtime::process {

// Sees what a rank does, as it does it, on the rank's clock.
class RankObserver {
 public:
  virtual ~RankObserver() = default;
  // A message of a task.
  virtual void arrived(const signals::Data& data, core::Time sent, core::Time at) = 0;
  virtual void started(core::Task task, core::Time at) = 0;
  virtual void finished(core::Task task, core::Time at) = 0;
  // The executor was asked at `now`, and gave these commands.
  virtual void polled(core::Time now, const core::Executor& executor,
                      std::span<const core::Command> commands) = 0;
  // The rank sends the messages of these commands between two tasks, outside of a poll.
  virtual void sent(core::Time /*now*/, std::span<const core::Command> /*commands*/) {}
};

struct RankOptions {
  // The time that tasks and messages take, on the clock: a profile, say, for a hint that waits.
  // Nothing: the average of the rank's tasks in the step before, and none in the first step.
  std::optional<core::Costs> costs = std::nullopt;
  // When a message that has come is due, on the clock: injected delays. Null: at once.
  std::function<core::Time(const signals::OfMessage&, core::Time sent)> due = nullptr;
  trace::Record* trace = nullptr;    // borrowed; null: none
  RankObserver* observer = nullptr;  // borrowed; null: none
};

// To be done by whoever feeds the rank, in this order.
struct Actions {
  struct Start {
    Call call;
    std::optional<Call> with = std::nullopt;  // the other one of a `pair` that starts at once
  };
  std::vector<Outgoing> sends;
  std::vector<Start> starts;
  core::Time until = core::Time::max();  // when to poll again if nothing comes
};

struct StepReport {
  std::chrono::nanoseconds duration{0};  // from begin_step until this rank is done with the step
  std::chrono::nanoseconds busy{0};      // inside tasks, injected delays included
  std::int64_t tasks = 0;
};

class Rank {
 public:
  // `self` is a process of the layout, and of the arbiter's rank.
  Rank(core::Arbiter& arbiter, const core::Layout& layout, int self, RankOptions options);
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  // The step begins at the first poll(). Refuses what the layout does not fit.
  core::Status begin_step(std::int64_t step, int microbatches, core::Time now);
  [[nodiscard]] bool step_done() const;

  // Takes a delivery that is of a message, a Begun or a Ballot; refuses any other.
  core::Status delivered(Delivery delivery, core::Time now);
  core::Status ended(Ended ended, core::Time now);
  // Its failure is the executor's, too.
  void fail(const core::Status& why) { executor_.failed(why); }

  // Appends; a start is given once, and so is what is sent.
  core::Status poll(core::Time now, Actions& actions);
  // Appends sends alone: between two tasks that one poll() started.
  void poll_sends(core::Time now, Actions& actions);

  // Its tasks that run now, and those of the last step in the order in which they started.
  [[nodiscard]] const std::vector<core::RunningTask>& running() const { return running_; }
  [[nodiscard]] const std::vector<core::Task>& started() const { return started_; }
  [[nodiscard]] core::RankWaits waits() const;
  // The last things that happened, the latest first, for people.
  [[nodiscard]] std::string last_events(core::Time now) const;
  [[nodiscard]] const core::ProgramFacts& facts() const { return facts_; }
  [[nodiscard]] const StepReport& report() const { return report_; }
  [[nodiscard]] const core::Executor& executor() const { return executor_; }
  [[nodiscard]] const core::Ledger& ledger() const { return ledger_; }

 private:
  // The step, the edge and the microbatch of a payload.
  using Key = std::tuple<std::int64_t, core::EdgeId, std::int32_t>;
  struct LastEvent {
    const char* what;
    core::Task task;
    core::Time at;
  };

  void note(const char* what, core::Task task, core::Time at);
  void tell_costs();
  [[nodiscard]] core::Status check_sender(int from, const Signal& signal, core::EdgeId edge) const;
  [[nodiscard]] core::Status check_step(int from, std::int64_t step) const;
  core::Status accept_begun(int from, const signals::Begun& begun);
  // All ranks have the same number of microbatches in a step: one that has more would wait for
  // messages that nobody sends.
  [[nodiscard]] core::Status check_count(int process, std::int64_t step, int microbatches) const;
  core::Status accept_ballot(int from, std::int64_t step, const Payload& payload);
  // The executor begins the step that is to begin.
  core::Status begin(core::Time now, Actions& actions);
  core::Status accept(Delivery& delivery, core::Time now);
  core::Status accept_data(const signals::Data& data, Delivery& delivery, core::Time now);
  core::Status accept_notice(const signals::Notice& of, const Delivery& delivery, core::Time now);
  core::Status accept_end(Call& call, core::Time begin, core::Time end);
  void keep_outputs(Call& call);
  [[nodiscard]] Call call_of(core::Task task, core::Time now);
  void take_inputs(core::Task task, std::vector<Input>& inputs);
  void start(std::size_t& command, core::Time now, Actions& actions);
  [[nodiscard]] bool is_pair(std::size_t command) const;
  [[nodiscard]] Outgoing outgoing(const core::Command& command, core::Time now);
  // To the others.
  void give_ballot(core::Engine engine, core::Time now, Actions& actions);
  [[nodiscard]] int process_of(core::LaneId lane) const;
  [[nodiscard]] std::string name_of(core::Task task) const;

  core::Arbiter& arbiter_;
  const core::ProgramFacts& facts_;
  core::Layout layout_;
  core::Coordinates self_;
  RankOptions options_;
  int process_;
  std::unique_ptr<core::Agreement> agreement_;
  std::array<std::vector<int>, core::kEngines> agreeing_;  // with it, by engine: processes
  core::Ledger ledger_;
  core::Executor executor_;
  int microbatches_ = 0;
  std::int64_t step_ = -1;  // the present one, or the one that is to begin
  bool begins_ = false;
  // The latest step that a process has said to have begun, and how many microbatches it has there.
  struct Begun {
    std::int64_t step = -1;
    std::int32_t microbatches = -1;  // -1: it has not said
  };
  std::map<int, Begun> begun_by_;  // by process to which this one sends
  std::set<int> senders_;          // processes that send to this one
  StepReport report_;
  core::Time begun_{0};
  std::vector<std::vector<core::EdgeId>> inputs_of_;   // per lane: edges that carry a payload to it
  std::vector<std::vector<core::EdgeId>> outputs_of_;  // per lane: edges that carry its output
  std::map<Key, Payload> mailbox_;            // payloads that a task has yet to take, or to send
  std::multimap<core::Time, Delivery> held_;  // not due yet, by when they are
  std::vector<core::RunningTask> running_;
  std::deque<LastEvent> last_;
  std::vector<core::Task> started_;
  std::vector<int> tasks_left_;          // per lane, to start
  std::vector<core::Command> commands_;  // the last poll's
  std::vector<core::Time> took_;         // per lane: its tasks of this step, together
  std::vector<std::int64_t> ended_;      // per lane: in this step
  std::vector<Call> spare_;              // calls that have ended, for their memory
};

}  // namespace ripeline::runtime::process
