// Executor: one rank's run of a program, as events in and commands out.
//
// It has no thread, clock, socket or tensor. It serves the training runtime (fed by transports),
// the simulator (fed by a virtual clock) and the test harness (fed by a seeded scheduler).
//
//   executor.begin_step(step, microbatches, now);
//   for (;;) {
//     executor.poll(now, commands);              // never blocks
//     ... carry the commands out; report finished(task), arrived(step, message), announced(…),
//         granted(…) and balloted(…) ...
//     if (executor.step_done()) break;
//   }
//
// Events that do not fit (another step, another rank, twice the same) are refused with a status and
// change nothing. At each start the executor checks what was proved (needs met, room in every
// pool); a breach stops the run before the task starts; its status has the rank's counters. Bounded
// links follow the rules of core/links.h; a message beyond their slots is refused. Messages,
// announcements and ballots of a later step are stored until that step begins, so that callers need
// not store them; a rank that needs nothing from this one may be many steps ahead. After the first
// failure (reported by failed(), or a breach) every call returns that failure. Memory is allocated
// by begin_step(), by messages of later steps, and whenever more commands are due at once than ever
// before. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/agreement.h"
#include "core/arbiter.h"
#include "core/command.h"
#include "core/early.h"
#include "core/find_waits.h"
#include "core/ledger.h"
#include "core/links.h"
#include "core/progress.h"
#include "core/running.h"
#include "core/waiting.h"

namespace ripeline::core {

class Executor {
 public:
  // The arguments must outlive the executor. The arbiter must be of the coordinates' rank.
  Executor(Coordinates self, Arbiter& arbiter, Agreement& agreement, Ledger& ledger);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  Status begin_step(std::int64_t step, int microbatches, Time now);

  // `ordinal` is the ordinal in the message's send or announce command; only fifo edges use it.
  Status arrived(std::int64_t step, Message message, Time now, std::int32_t ordinal = 0);
  // Reports the command `announce` of the sender's executor; poll() grants the message.
  Status announced(std::int64_t step, Message message, std::int32_t ordinal = 0);
  // Reports the command `grant` of the receiver's executor.
  Status granted(std::int64_t step, Message message, Time now);
  // Reports the command `ballot` of another process that governs the ballot's engine: a member of
  // this rank, or a replica. `member` is its number (ProgramFacts::agreeing). An early ballot is
  // stored; if it does not fit its step, the run stops when that step begins.
  Status balloted(std::int64_t step, int member, const Ballot& ballot);
  // The ballot that the engine's command `ballot` asks to send; valid until the next poll().
  [[nodiscard]] const Ballot& ballot(Engine engine) const {
    return *ballots_[static_cast<std::size_t>(engine)];
  }
  // Serves callers that repeat a recorded run. After hold_back(true), a message that waits for a
  // slot of its own link leaves only once let_go() has named it, in any order, and a slot is free.
  void hold_back(bool value) { links_.hold_back(value); }
  Status let_go(Message message);
  Status finished(Task task, Time now);
  // Reports the command `notify` of a neighbour. A notice of another step changes nothing.
  Status noticed(std::int64_t step, const Notice& notice, Time now);
  // Reports that the caller's work failed; the executor stops with this status.
  void failed(Status status);

  // Appends the commands that are due now: sends before starts, holds last. Each command is given
  // once, but hold_until is repeated at each poll while the hold lasts.
  Status poll(Time now, std::vector<Command>& commands);

  // Appends only the due send, announce and grant commands; starts nothing. For callers that must
  // see what is sent at an instant before any task starts at that instant; poll() sends and starts.
  void poll_links(std::vector<Command>& commands);
  // True if the engine runs no task, but hands a rendezvous message over.
  [[nodiscard]] bool hands_over(Engine engine) const { return links_.hands_over(engine); }

  // True once every task of this rank has finished in this step, and Links::settled() holds.
  [[nodiscard]] bool step_done() const { return progress_.all_done() && links_.settled(); }
  [[nodiscard]] std::int64_t step() const { return step_; }

  // The rank's running tasks and waits; empty before the first step. Works after a failure, too.
  [[nodiscard]] RankWaits waits() const;
  // The running tasks and the waits as text, in at most `lines` lines.
  [[nodiscard]] std::string waiting(int lines = 8) const;

  // For core/blocks.h. True if, in this step, the producer's task of `microbatch` has ended and its
  // message, if it sends one, has arrived; `edge` must be one of this rank's.
  [[nodiscard]] bool is_here(EdgeId edge, int microbatch) const;
  [[nodiscard]] int microbatches() const { return microbatches_; }

 private:
  [[nodiscard]] Status invalid(const std::string& what) const;
  [[nodiscard]] Status check_begin(std::int64_t step, int microbatches) const;
  Status receive(std::int64_t step, const IncomingMessage& incoming, Time now);
  [[nodiscard]] Status unexpected(std::int64_t step, const IncomingMessage& incoming) const;
  [[nodiscard]] Status keep_early(std::int64_t step, const IncomingMessage& early);
  Status accept(const IncomingMessage& incoming, Time now);
  // Appends the ballot commands of this poll.
  void give_ballots(std::vector<Command>& commands);
  // Stores the decision's ballot, and whether the group is undecided or has failed.
  void note(const Agreement::Decision& decision, Engine engine);
  // Returns whether a task started on the engine.
  bool start_on(Engine engine, Time now, std::vector<Command>& commands);
  void start(Task task, Time now);
  void notify(std::vector<Command>& commands) const;

  // Whether the task is one of this rank, in this step.
  [[nodiscard]] bool is_ours(Task task) const { return step_ >= 0 && progress_.has(task); }
  [[nodiscard]] std::size_t engine_of(LaneId lane) const {
    return static_cast<std::size_t>(facts_.lanes[static_cast<std::size_t>(lane)].engine);
  }
  [[nodiscard]] bool may_take(Engine engine) const {
    return running_[static_cast<std::size_t>(engine)].may_take(facts_) &&
           !links_.hands_over(engine);
  }
  // The task's name and why it may not start; empty if it may.
  [[nodiscard]] std::string why_not(Task task, Engine engine) const;
  [[nodiscard]] Status breach(const std::string& what) const;
  [[nodiscard]] std::string counters() const;
  [[nodiscard]] RankView view() const;

  const ProgramFacts& facts_;
  Coordinates self_;
  Arbiter& arbiter_;
  Agreement& agreement_;
  Ledger& ledger_;

  std::int64_t step_ = -1;
  int microbatches_ = 0;
  LaneId first_lane_ = 0;  // the rank's lanes, and the edges that they consume, are contiguous
  int lanes_ = 0;
  EdgeId first_edge_ = 0;
  Status failure_;
  std::array<RunningTasks, kEngines> running_{};
  std::array<Idle, kEngines> idle_{};
  std::vector<Engine> engines_;  // the engines that the rank's lanes use
  TaskProgress progress_;
  std::vector<EdgeId> first_need_;    // per own lane, and one past the last
  std::vector<LaneId> local_;         // per own edge: its producer, -1 if on another rank
  std::vector<Message> handed_over_;  // the messages that one arrival hands over
  std::vector<Time> holds_;           // scratch of poll()
  std::vector<Notice> notices_;       // scratch of poll()
  Links links_;
  std::array<const Ballot*, kEngines> ballots_{};  // the ballots given last
  std::vector<Engine> giving_;                     // scratch of poll(): engines with a ballot
  Early<IncomingMessage> early_;
  Early<IncomingBallot> early_ballots_;
};

}  // namespace ripeline::core
