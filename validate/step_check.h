// StepCheck: replays on spec::Machine what the ranks of a run did in one step.
//
// spec::Machine decides which events are possible. The trace orders events only as follows:
//  * the starts of a rank happen one after another, and so do its arrivals;
//  * a start, an arrival and an end of one rank happen in the order of their times; if their times
//    are equal, they happen in any order that is possible;
//  * the time of a start is the time when its rank chose the task (trace::TaskEvent::chosen).
// The clocks of two ranks are never compared; only messages order the events of different ranks. On
// two kinds of links the replayed message arrives at another time than the message in the trace:
//  * a rendezvous message arrives as soon as its sender may send it (core/links.h), hence earlier.
//    The task that needs the message still starts after the arrival in the trace;
//  * a message that overtakes others on a fifo edge arrives after them, hence later.
//
// As long as the next event of some rank is possible, one such event is replayed. Any other choice
// gets no further, since a possible event stays possible whatever other ranks do: ended tasks and
// arrived messages remain so; engines, pools and positions in an order belong to a rank and only
// its own starts use them; slots belong to their receiver and only its own arrivals use them. So if
// events are left and none is possible, no order of them is a run. (A task that sends by rendezvous
// can end and block its engine for the other task of a pair; no such pair is proved.)
//
// The record of a rank may be *cut off*: the rank continued after the record ends, and a task that
// ran at that time is missing. Events that must have happened later are assumed, and counted. An
// event is not reported as wrong if missing events may explain it. Plain class; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "spec/machine.h"
#include "trace/record.h"

namespace ripeline::validate {

struct RankEvent {
  core::Time at{0};
  spec::Event event;
};

// The events of a step by rank, in the order in which they are examined.
struct StepEvents {
  std::vector<std::vector<RankEvent>> ranks;
};
// The events by step. The record must be of the program.
[[nodiscard]] std::map<std::int64_t, StepEvents> steps_of(const spec::Program& program,
                                                          const trace::Record& record);

// The next event of a rank that cannot continue.
struct Blocked {
  int rank = 0;
  RankEvent event;
  std::string why;       // `waits for 0F3, whose message arrives later`
  bool is_cause = true;  // false if it waits for a later event of another rank
};

class StepCheck {
 public:
  // The machine and the events must outlive this object. `cut_off` is by rank.
  StepCheck(const spec::Machine& machine, const StepEvents& events,
            const std::vector<bool>& cut_off);

  // Replays as many events as possible.
  void lead();

  // The events that were replayed, in the order of the replayed run.
  [[nodiscard]] const std::vector<spec::Event>& led() const { return led_; }
  // The next event of each rank with events left. The causes are the events that wait for no later
  // event of another rank; if all wait, they are those that come before this one by the clocks.
  [[nodiscard]] std::vector<Blocked> blocked() const;
  // The number of assumptions about records that are cut off.
  [[nodiscard]] int assumed() const { return assumed_; }
  [[nodiscard]] const spec::Machine::State& state() const { return state_; }
  [[nodiscard]] const std::vector<std::int64_t>& peaks() const { return peaks_; }  // by pool

 private:
  struct Rank {
    const std::vector<RankEvent>* events = nullptr;
    std::vector<bool> past;         // replayed, or kept
    std::size_t first = 0;          // all events before this one are past
    std::vector<std::size_t> kept;  // arrivals over fifo edges that overtook others
    bool cut_off = false;
    bool ignored = false;  // events that the trace lacks may explain its next events
    [[nodiscard]] bool is_over() const { return ignored || first == past.size(); }
  };
  struct Lack {
    std::string what;
    std::optional<core::Time> later = {};  // the time of the other rank's event that is awaited
    bool is_at_hand = false;               // only messages of the start's time are missing
  };

  bool advance(Rank& rank);
  bool advance_kept(Rank& rank);
  bool take(Rank& rank, std::size_t i);
  bool grant_early();
  bool assume_sent();
  bool ignore();
  [[nodiscard]] std::vector<std::size_t> next_of(const Rank& rank) const;
  [[nodiscard]] bool may_happen(const spec::Event& event) const;
  void happen(const spec::Event& event);

  [[nodiscard]] int rank_of(int lane) const;
  [[nodiscard]] std::optional<core::Time> ahead(const spec::Event& event) const;
  // The arrival of a message that the lane's engine is handing over; nullopt if there is none.
  [[nodiscard]] std::optional<spec::Event> handed_over(int lane) const;
  [[nodiscard]] Lack lack(const RankEvent& event) const;
  [[nodiscard]] Lack lack_of_start(const RankEvent& start) const;
  [[nodiscard]] Lack lack_of_arrival(const spec::Event& event) const;
  [[nodiscard]] std::string lack_of_need(int edge, int microbatch) const;

  const spec::Machine& machine_;
  const spec::Program& program_;
  spec::Machine::State state_;
  std::vector<Rank> ranks_;
  std::set<std::pair<int, int>> early_;  // rendezvous messages that arrive later in the trace
  bool has_rendezvous_ = false;
  int assumed_ = 0;
  std::vector<spec::Event> led_;
  std::vector<std::int64_t> peaks_;
};

}  // namespace ripeline::validate
