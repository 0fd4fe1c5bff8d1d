// Rank: one rank's part of a program, without I/O. It asks the executor what to start and to send,
// and makes calls and messages from the answers.
//
// It takes events and returns actions; it has no thread, clock, socket or tensor. A Process
// (runtime/protocol/process.h) passes on the events that concern the rank.
//
//   rank.begin_step(step, microbatches, now);
//   for (;;) {
//     rank.poll(now, actions);        // send, start
//     …                               // delivered(), ended()
//     if (rank.step_done()) break;
//   }
//
// All that a peer sends is checked before it is used (runtime/protocol/rank_peers.h). A rank is
// done with a step only when all ranks to which it sends have begun it, too. So nobody keeps
// messages of more than the next step, however one-sided the program is. And while another program
// has its turn, no message of this step can arrive, except notices. Calls fail by status; after the
// first failure the rank cannot be used. Borrowed objects must outlive it. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/costs.h"
#include "core/executor.h"
#include "core/layout.h"
#include "runtime/engine.h"
#include "runtime/protocol/held_deliveries.h"
#include "runtime/protocol/mailbox.h"
#include "runtime/protocol/outgoing.h"
#include "runtime/protocol/rank_history.h"
#include "runtime/protocol/rank_peers.h"
#include "runtime/protocol/step_times.h"

namespace ripeline::runtime::protocol {

struct RankOptions {
  // The time that tasks and messages take, such as from a profile, for hints that wait. If nullopt,
  // the average of the rank's tasks in the previous step, and no costs in the first step.
  std::optional<core::Costs> costs = std::nullopt;
  DueTime due = nullptr;             // injected delays of messages; if null, each is due at once
  trace::Record* trace = nullptr;    // borrowed; null if there is none
  RankObserver* observer = nullptr;  // borrowed; null if there is none
};

// The actions that the caller must carry out, in this order.
struct Actions {
  struct Start {
    Call call;
    std::optional<Call> with = std::nullopt;  // the second task of a `pair`, which starts at once
  };
  std::vector<Outgoing> sends;
  std::vector<Start> starts;
  core::Time until = core::Time::max();  // when to poll again if nothing arrives
};

class Rank {
 public:
  // `self` is a process of the layout, in the arbiter's rank.
  Rank(core::Arbiter& arbiter, const core::Layout& layout, int self, RankOptions options = {});
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  // The step begins at the first poll(). Fails if the program does not fit the layout.
  core::Status begin_step(std::int64_t step, int microbatches, core::Time now);
  [[nodiscard]] bool step_done() const;

  // Takes a delivery that belongs to a message, or is a Begun or a Ballot; refuses any other.
  core::Status delivered(Delivery delivery, core::Time now);
  core::Status ended(Ended ended, core::Time now);
  // Makes the executor of this rank fail, too.
  void fail(const core::Status& why) { executor_.failed(why); }

  // Appends what is to be started and sent; nothing is appended twice.
  core::Status poll(core::Time now, Actions& actions);
  // Appends only what is to be sent, between two tasks that one poll() has started.
  void poll_sends(core::Time now, Actions& actions);

  // The tasks that run now, and the tasks of the last step in the order in which they started.
  [[nodiscard]] const std::vector<core::RunningTask>& running() const { return running_; }
  [[nodiscard]] const std::vector<core::Task>& started() const { return history_.started(); }
  [[nodiscard]] core::RankWaits waits() const;
  [[nodiscard]] std::string last_events(core::Time now) const { return history_.last_events(now); }
  [[nodiscard]] const core::ProgramFacts& facts() const { return facts_; }
  // The report on the present step or, between steps, on the last one.
  [[nodiscard]] const StepReport& report() const { return times_.report(); }
  [[nodiscard]] const trace::Record* trace() const { return history_.trace(); }  // or null
  [[nodiscard]] const core::Executor& executor() const { return executor_; }
  [[nodiscard]] const core::Ledger& ledger() const { return ledger_; }

 private:
  // Makes the executor begin the step.
  core::Status begin(core::Time now, Actions& actions);
  core::Status accept_ballot(int from, std::int64_t step, const Payload& payload);
  core::Status accept(Delivery& delivery, core::Time now);
  core::Status accept_data(const signals::Data& data, Delivery& delivery, core::Time now);
  core::Status accept_notice(const signals::Notice& of, const Delivery& delivery, core::Time now);
  core::Status accept_end(Call& call, core::Time begin, core::Time end);
  void start(std::size_t& command, core::Time now, Actions& actions);
  [[nodiscard]] bool is_pair(std::size_t command) const;
  [[nodiscard]] Outgoing outgoing(const core::Command& command, core::Time now);
  // Sends this process's ballot to the other processes that agree on what starts on the engine.
  void give_ballot(core::Engine engine, core::Time now, Actions& actions);

  core::Arbiter& arbiter_;
  const core::ProgramFacts& facts_;
  core::Layout layout_;
  core::Coordinates self_;
  RankOptions options_;
  int process_;
  std::unique_ptr<core::Agreement> agreement_;
  core::Ledger ledger_;
  core::Executor executor_;
  RankPeers peers_;
  Mailbox mailbox_;
  HeldDeliveries held_;
  StepTimes times_;
  RankHistory history_;
  std::int64_t step_ = -1;  // the present step, or the one that is to begin
  int microbatches_ = 0;
  bool begins_ = false;
  std::vector<core::RunningTask> running_;
  std::vector<core::Command> commands_;  // the commands of the last poll
};

}  // namespace ripeline::runtime::protocol
