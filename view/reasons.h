// Reasons: what each task of a run waited for, and the chain of these waits back to the start.
//
// A task starts once its needs are met, its engine takes it and its pools have room. An engine
// takes a task when it is idle or runs one task that is a pair with it. A task's reason is the last
// of these conditions to be met; unless another is met at the same time, the task would start
// earlier without it. If several are met at once, it is the engine, else a need, else room, since a
// task that starts as the previous one ends did not keep its engine idle. But if that end also met
// the need or made the room, that need or room is the reason. A task that starts later still,
// beside one that just started, waited for that start, since the order puts the other first.
//
// A need is the end of a task or the arrival of a message. A message that left after its producer's
// end had waited for a slot, which the start of another task freed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "view/timeline.h"

namespace ripeline::view {

struct Reason {
  enum class Why : std::uint8_t {
    nothing,   // the task needs nothing and was the first
    engine,    // its engine ran `box`, beside which this task could not run
    handover,  // its engine was handing over the message of `box`, until `at`
    need,      // `box` ended, on the same rank
    message,   // the message of `box` over `edge` arrived
    room,      // `box` released some of `pool`
    turn,      // `box`, beside which this task runs, started
  };
  Why why = Why::nothing;
  int box = -1;
  core::EdgeId edge = -1;
  int pool = -1;
  core::Time at{0};     // when the condition was met; for `nothing` the task's own start
  core::Time rest{-1};  // when the last other condition was met; -1 if there are none
};

class Last;  // finds the last of the reasons that are offered

class Reasons {
 public:
  // The timeline must outlive the Reasons.
  explicit Reasons(const Timeline& timeline);
  // The first call for a rank computes all its reasons; later calls only look them up.
  [[nodiscard]] const Reason& of(int box);

 private:
  struct Change {  // in the amount held of a pool
    core::Time at;
    bool acquires;
    std::int64_t before;  // the amount held before the change
    std::int64_t by;
    int box;
  };
  struct Rank {
    std::vector<int> first;  // per row of the rank, its first box
    std::vector<std::vector<Reason>> rows;
  };
  void look(int rank, Rank& out) const;
  [[nodiscard]] std::vector<std::vector<Change>> changes_of(int rank) const;
  [[nodiscard]] Reason reason(int box, const std::vector<std::vector<Change>>& changes) const;

  void offer_engine(int box, Last& last) const;
  void offer_handovers(int box, int ended, Last& last) const;
  void offer_room(int box, const std::vector<std::vector<Change>>& changes, Last& last) const;
  [[nodiscard]] Last last_of(int box, const std::vector<std::vector<Change>>& changes) const;

  const Timeline& timeline_;
  std::vector<std::vector<core::EdgeId>> rendezvous_;  // per lane: the edges that it hands over
  std::vector<std::optional<Rank>> ranks_;
};

// One stretch of a chain. A chain has no gaps: each stretch ends where the next one begins.
struct Link {
  enum class Kind : std::uint8_t {
    ran,      // `box` ran
    flew,     // the message of `box` over `edge` was on its way
    slot,     // the message of `box` over `edge` waited at its sender until `by` started
    held,     // `box` could have started, but a hint held the engine for another task
    started,  // `box` could have started but did not, and the trace has no reason for that
    host,     // the rank's thread was late to start `box`, or to send its message over `edge`
  };
  Kind kind = Kind::ran;
  int box = -1;
  core::EdgeId edge = -1;
  int by = -1;
  core::Time start{0};
  core::Time end{0};
  Reason reason = {};  // for `ran`, the reason why it started then
};

// The chain from the start of the run to the end of `box`.
[[nodiscard]] std::vector<Link> chain_to(const Timeline& timeline, Reasons& reasons, int box);

// How long a hint held the engine of `box` idle since the engine's previous task ended.
[[nodiscard]] core::Time held_before(const Timeline& timeline, int box);

}  // namespace ripeline::view
