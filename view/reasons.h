// Reasons: what each task of a run waited for, and the chain of that back to the start.
//
// A task starts once its needs are there, its engine takes it and its pools have room. An engine
// takes it when it is idle, or runs one task that it is a pair with. The last of these to come is
// its reason; of several that came at once the engine, then a need, then room: a
// task that starts as the one before it ends did not keep its engine idle. But where the task
// before it also gave what it needed, or the room, that is its reason. Removing the reason's cause
// lets the task start earlier, if no other came at the same time. One that starts later still,
// beside a task that had just started, waited for that: an order has both, that one first.
//
// A need is the end of a task or the arrival of a message. A message that left after its producer's
// end waited for a slot, which the start of another task freed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "view/timeline.h"

namespace ripeline::view {

struct Reason {
  enum class Why : std::uint8_t {
    nothing,   // it needs nothing and was the first
    engine,    // its engine ran `box`, beside which it could not run
    handover,  // its engine handed the message of `box` over, which was taken at `at`
    need,      // `box` ended, on the same rank
    message,   // the message of `box` over `edge` arrived
    room,      // `box` released of `pool`
    turn,      // `box`, beside which it runs, started
  };
  Why why = Why::nothing;
  int box = -1;
  core::EdgeId edge = -1;
  int pool = -1;
  core::Time at{0};     // when it came; the task's own start if nothing did
  core::Time rest{-1};  // when all else was there; -1: there is nothing else
};

class Last;  // the last of the reasons offered

class Reasons {
 public:
  // The timeline must outlive it.
  explicit Reasons(const Timeline& timeline);
  // Takes a rank's time once, then a look-up.
  [[nodiscard]] const Reason& of(int box);

 private:
  struct Change {  // in a pool
    core::Time at;
    bool acquires;
    std::int64_t before;  // held before it
    std::int64_t by;
    int box;
  };
  struct Rank {
    std::vector<int> first;  // per row of the rank: its first box
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
  std::vector<std::vector<core::EdgeId>> rendezvous_;  // per lane: those that it hands over
  std::vector<std::optional<Rank>> ranks_;
};

// One stretch of a chain, which has no gaps: the end of each is the start of the one after it.
struct Link {
  enum class Kind : std::uint8_t {
    ran,      // `box` ran
    flew,     // the message of `box` over `edge` was on its way
    slot,     // the message of `box` over `edge` waited at its sender; `by`: whose start freed it
    held,     // `box` might have started, and its rank's hint held the engine for another
    started,  // `box` might have started and did not yet: nothing in the trace says why
    host,     // the rank's thread had not come to start `box`, or to send its message over `edge`
  };
  Kind kind = Kind::ran;
  int box = -1;
  core::EdgeId edge = -1;
  int by = -1;
  core::Time start{0};
  core::Time end{0};
  Reason reason = {};  // for `ran`: why it started when it did
};

// From the start of the run to the end of `box`.
[[nodiscard]] std::vector<Link> chain_to(const Timeline& timeline, Reasons& reasons, int box);

// How long the engine of `box` was held idle by its hint between the last end there and its start.
[[nodiscard]] core::Time held_before(const Timeline& timeline, int box);

}  // namespace ripeline::view
