// Executor: one rank's run of a program, as events in and commands out.
//
// No thread, clock, socket or tensor. Whoever feeds it decides what it is: transports make it the
// training runtime, a virtual clock the simulator, a seeded scheduler the test harness.
//
//   executor.begin_step(step, microbatches, now);
//   for (;;) {
//     executor.poll(now, commands);              // never blocks; start, send and hold_until
//     ... carry the commands out; report finished(task) and arrived(step, message) ...
//     if (executor.step_done()) break;
//   }
//
// Events that do not fit (another step, another rank, twice the same) are refused by status and
// change nothing. At each start what was proved is checked (needs met, room in every pool) and a
// breach stops the run, before the task starts, with the rank's counters. A message of the next
// step is kept until that step begins; before the first step, which may have any number, messages
// of any step are kept. After the first failure (reported by failed(), or a breach) every call
// returns that failure. Memory is taken by begin_step() only, but for messages of the next step.
// One thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/agreement.h"
#include "core/arbiter.h"
#include "core/ledger.h"

namespace ripeline::core {

struct Command {
  enum class Kind : std::uint8_t {
    start,       // run `task` on its lane's engine, then report finished(task)
    send,        // send `message` to the rank of its edge's consumer
    hold_until,  // nothing starts before `until` unless an event comes: call poll() then
  };
  Kind kind = Kind::start;
  Task task;
  Message message;
  Time until{0};
  bool operator==(const Command&) const = default;
};

class Executor {
 public:
  // All are borrowed and must outlive the executor. The arbiter's rank is the coordinates' rank.
  Executor(Coordinates self, Arbiter& arbiter, Agreement& agreement, Ledger& ledger);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  Status begin_step(std::int64_t step, int microbatches, Time now);

  Status arrived(std::int64_t step, Message message, Time now);
  Status finished(Task task, Time now);
  // The work failed: the executor stops with this status.
  void failed(Status status);

  // Appends the commands that are due now. Each is given once; hold_until again at each poll while
  // it lasts.
  Status poll(Time now, std::vector<Command>& commands);

  // Every task of this rank has finished in this step.
  [[nodiscard]] bool step_done() const { return finished_ == expected_; }
  [[nodiscard]] std::int64_t step() const { return step_; }

  // Who waits for what, for people: each unfinished lane's next task and the needs that are
  // missing, with the rank that owes them. At most `lines` lines.
  [[nodiscard]] std::string waiting(int lines = 8) const;

 private:
  struct Early {
    std::int64_t step;
    Message message;
    bool operator==(const Early&) const = default;
  };
  enum class Progress : std::uint8_t { waiting, running, done };

  [[nodiscard]] Status invalid(const std::string& what) const;
  [[nodiscard]] Status check_begin(std::int64_t step, int microbatches) const;
  [[nodiscard]] Status keep_early(std::int64_t step, Message message);
  void accept(Message message, Time now);
  Status start(Task task, Time now);
  Status poll_engine(Engine engine, Time now, std::vector<Command>& commands);

  [[nodiscard]] bool is_ours(Task task) const;
  [[nodiscard]] bool is_incoming(EdgeId edge) const;
  [[nodiscard]] bool has_arrived(Message message) const;
  [[nodiscard]] std::size_t index(Task task) const;
  [[nodiscard]] std::size_t index(Message message) const;
  [[nodiscard]] std::size_t engine_of(LaneId lane) const;
  [[nodiscard]] bool met(EdgeId edge, int microbatch) const;
  [[nodiscard]] bool needs_met(Task task) const;
  [[nodiscard]] std::string missing_needs(Task task) const;
  [[nodiscard]] Status breach(const std::string& what) const;
  [[nodiscard]] std::string counters() const;

  const ProgramFacts& facts_;
  Coordinates self_;
  Arbiter& arbiter_;
  Agreement& agreement_;
  Ledger& ledger_;

  std::int64_t step_ = -1;
  int microbatches_ = 0;
  std::int64_t finished_ = 0;
  std::int64_t expected_ = 0;
  LaneId first_lane_ = 0;  // the rank's lanes, and the edges that they consume, are contiguous
  int lanes_ = 0;
  EdgeId first_edge_ = 0;
  int edges_ = 0;
  Status failure_;
  std::vector<Progress> progress_;     // per own task
  std::vector<std::uint8_t> arrived_;  // per own edge and microbatch
  std::vector<EdgeId> first_need_;     // per own lane, and one past the last
  std::vector<LaneId> local_;          // per own edge: its producer, -1 if of another rank
  std::vector<Early> early_;           // messages of the next step
  std::vector<Message> pending_sends_;
  std::vector<std::vector<EdgeId>> sends_of_;  // per own lane: edges that leave this rank
  std::vector<Engine> engines_;                // those that the rank's lanes use
  std::array<bool, 3> busy_{};                 // per engine
};

}  // namespace ripeline::core
