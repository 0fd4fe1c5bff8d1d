// StepCheck: leads what the ranks of a run did in one step through spec::Machine.
//
// The machine alone says what may happen. Of the order in the trace this counts, and no more:
//  * the starts of a rank come one after another, and so do its arrivals;
//  * of a start, an arrival and an end of one rank the earlier comes first; those of one time come
//    in any order that is possible;
//  * a start counts from when its rank chose the task (trace::TaskEvent::chosen).
// Clocks of two ranks are never compared: what a rank did follows what another did by messages
// only. Over two links a message arrives for the machine at another time than in the trace:
//  * a rendezvous arrives when its sender may send it (core/links.h), hence earlier. The task that
//    needs it still starts after it has come;
//  * what comes early over a fifo edge is kept until those before it have come, hence later.
//
// Of all ranks some event that comes next and is possible is led, until there is none. Another
// choice would lead no further, since what is possible stays so whatever other ranks do: what has
// ended or arrived stays; engines, pools and places in an order belong to a rank, and only its own
// starts take from them; slots belong to their receiver, and only its own arrivals take them. So
// when nothing is possible and events are left, no order of them is a run. (The end of a task that
// sends by rendezvous can keep its engine from one beside which it ran; no such pair is proved.)
//
// The record of a rank may be *cut off*: the rank did more after it, and a task that ran at that
// time is not in it. What must have happened there is assumed, and counted; nothing is called wrong
// that may have its reason there. Plain class; one thread.
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

// By rank, in the order in which they are looked at.
struct StepEvents {
  std::vector<std::vector<RankEvent>> ranks;
};
// By step. The record is of the program.
[[nodiscard]] std::map<std::int64_t, StepEvents> steps_of(const spec::Program& program,
                                                          const trace::Record& record);

// The next event of a rank that does not go on.
struct Blocked {
  int rank = 0;
  RankEvent event;
  std::string why;       // `waits for 0F3, whose message arrives later`
  bool is_cause = true;  // else it waits for what another rank is yet to do
};

class StepCheck {
 public:
  // All are borrowed; `cut_off`: by rank.
  StepCheck(const spec::Machine& machine, const StepEvents& events,
            const std::vector<bool>& cut_off);

  // As far as it goes.
  void lead();

  // The events that were led, in an order that is a run's.
  [[nodiscard]] const std::vector<spec::Event>& led() const { return led_; }
  // The next event of each rank that was not led to its end. Where all wait for each other, those
  // are causes that come, by the clocks, before what they wait for.
  [[nodiscard]] std::vector<Blocked> blocked() const;
  // How often something was assumed of what is cut off.
  [[nodiscard]] int assumed() const { return assumed_; }
  [[nodiscard]] const spec::Machine::State& state() const { return state_; }
  [[nodiscard]] const std::vector<std::int64_t>& peaks() const { return peaks_; }  // by pool

 private:
  struct Rank {
    const std::vector<RankEvent>* events = nullptr;
    std::vector<bool> past;         // led, or kept
    std::size_t first = 0;          // before it all are past
    std::vector<std::size_t> kept;  // arrivals over fifo edges
    bool cut_off = false;
    bool ignored = false;  // its next events may follow from what is cut off
    [[nodiscard]] bool is_over() const { return ignored || first == past.size(); }
  };
  struct Lack {
    std::string what;
    std::optional<core::Time> later = {};  // another rank is yet to give it, at this time
    bool is_at_hand = false;               // a start lacks only messages of its own time
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
  // A message that the lane's engine hands over and that is yet to be taken.
  [[nodiscard]] std::optional<spec::Event> handed_over(int lane) const;
  [[nodiscard]] spec::Event arrival(int edge, int microbatch) const;
  [[nodiscard]] Lack lack(const RankEvent& event) const;
  [[nodiscard]] Lack lack_of_start(const RankEvent& start) const;
  [[nodiscard]] Lack lack_of_arrival(const spec::Event& event) const;
  [[nodiscard]] std::string lack_of_need(int edge, int microbatch) const;

  const spec::Machine& machine_;
  const spec::Program& program_;
  spec::Machine::State state_;
  std::vector<Rank> ranks_;
  std::set<std::pair<int, int>> early_;  // rendezvous messages that have not come: edge, microbatch
  bool has_rendezvous_ = false;
  int assumed_ = 0;
  std::vector<spec::Event> led_;
  std::vector<std::int64_t> peaks_;
};

}  // namespace ripeline::validate
