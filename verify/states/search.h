// Search: finds runs with spec/machine.h, for one microbatch count.
//
// Five explorers, from the most directed to the most thorough:
//   towards()     depth first, to a state that the solver named
//   walk()        a few random runs
//   overfill()    one run, continued until more messages wait for an inbox than it has slots
//   explore()     every state between two tasks, breadth first
//   interleave()  every state at all, also those in which tasks of one rank run side by side
// The first three only find: when they find nothing, nothing is known. The last two also prove:
// when they are complete and found nothing, this microbatch count is safe under their chooser.
//
// A move runs one task to its end, right after those of its messages that are still on their way
// have arrived, over a fifo edge with those before them. Nothing is lost by that. Delaying all
// other messages leaves the hint the fewest tasks to choose from, and a hint never turns to a lane
// because another lane has become ready as well; so the sequences of lanes that dispatch can be
// brought to run by timing are those found here, on ranks with one engine. Bounded slots are filled
// at the end, in whatever way lets no task start. See verify/ready/counters.h for why running tasks
// one at a time reaches every state in which nothing runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/machine.h"
#include "verify/states/budget.h"
#include "verify/states/goal.h"
#include "verify/states/run.h"

namespace ripeline::verify {

// A state to search for: how often each lane has run, and for a pool's bound the lane that then
// starts.
struct Target {
  std::vector<std::int64_t> counts;
  int last_lane = -1;
};

class Search {
 public:
  // `lowest_only`: of a lane, the lowest microbatch whose producers have ended is the only one to
  // consider. Right where counts decide (verify/ready/counters.h), and a restriction elsewhere.
  Search(const spec::Machine& machine, spec::Machine::Chooser chooser, const Goal& goal,
         bool lowest_only, Budget& budget);

  // Depth first to the target, never beyond its counts. Consumers are tried before producers, and
  // of a lane the microbatches at this end before the others. For a state that the solver named:
  // it need not be one that a run reaches.
  enum class Microbatches : std::uint8_t { low, high };
  [[nodiscard]] std::optional<Run> towards(const Target& target, Microbatches first,
                                           std::uint64_t most_states);
  // So many random runs to the end, the same ones every time. Most prefer some lanes to others, and
  // of a lane the first or the last microbatch, since lanes that go different ways are what sticks
  // at a join. For what the solver's states did not lead to.
  [[nodiscard]] std::optional<Run> walk(int walks);

  // Of a committed order, after whose run more messages wait for the inbox than it has slots. One
  // of them is left out, as many of the others arrive as fit, and the run goes on as far as it can;
  // so with one after the other left out, until the run sticks.
  [[nodiscard]] std::optional<std::vector<spec::Event>> overfill(const Run& run, int inbox) const;

  struct Explored {
    std::optional<Run> run;  // with the fewest tasks
    bool complete = false;   // there is no other state
  };
  // Every state that moves reach, breadth first, so that the first run found has the fewest tasks.
  [[nodiscard]] Explored explore();

  // Leaves out tasks without which the run still is one and still shows the goal.
  [[nodiscard]] Run shortened(Run run);
  // With every message that is still on its way arriving at the end, or ending with the start that
  // breaks a bound. Nothing if Machine does not replay it so.
  [[nodiscard]] std::optional<std::vector<spec::Event>> events_of(const Run& run) const;

 private:
  using State = spec::Machine::State;

  [[nodiscard]] std::vector<Task> moves(State& state) const;
  [[nodiscard]] bool may_move(State& state, const Task& task) const;
  void move(State& state, const Task& task) const;
  template <class Do>
  void for_each_message(const Task& task, const Do& visit) const;
  // The arrivals that the task's start waits for; nothing if its inboxes have no room for them.
  [[nodiscard]] std::optional<std::vector<spec::Event>> deliveries(const State& state,
                                                                   const Task& task) const;
  [[nodiscard]] spec::Event arrival(int edge, int microbatch) const;
  void run_to_the_end(State& state, std::vector<spec::Event>& events) const;
  // The arrivals after which nothing more arrives and no task may start, though not all have ended;
  // nothing if there are none. `next` are the moves.
  [[nodiscard]] std::optional<std::vector<spec::Event>> sticking(
      const State& state, const std::vector<Task>& next) const;
  bool fill(State& state, int first_edge, std::vector<spec::Event>& arrivals) const;
  [[nodiscard]] bool any_may_start(const State& state) const;
  [[nodiscard]] bool producers_ended(const State& state, const Task& task) const;
  [[nodiscard]] bool shows_goal(const State& state, const Task& task) const;
  [[nodiscard]] std::size_t index(int lane_or_edge, int microbatch) const {
    return static_cast<std::size_t>(lane_or_edge) *
               static_cast<std::size_t>(machine_.microbatches()) +
           static_cast<std::size_t>(microbatch);
  }
  [[nodiscard]] std::string key(const State& state) const;
  [[nodiscard]] bool shows_goal(const Run& run) const;

  const spec::Machine& machine_;
  const spec::Program& program_;
  spec::Machine::Chooser chooser_;
  const Goal& goal_;
  bool lowest_only_;
  Budget& budget_;
  std::uint64_t state_cost_ = 1;
  bool bounded_ = false;         // some edge has an inbox, is fifo or a rendezvous
  std::vector<int> rendezvous_;  // edges
  std::vector<int> depth_;       // per lane: the longest way from a lane without needs
};

// Every state of spec/machine.h, event by event and breadth first. For programs in which tasks of
// one rank run side by side, on several engines or as a pair: more may be held then than when tasks
// run one at a time, which explore() does not see.
struct Interleaved {
  std::optional<std::vector<spec::Event>>
      events;             // to a start that breaks a bound, or a stuck state
  bool complete = false;  // there is no other state
};
[[nodiscard]] Interleaved interleave(const spec::Machine& machine, spec::Machine::Chooser chooser,
                                     const Goal& goal, Budget& budget);

// Each event is enabled in its turn, and the last state shows the goal.
[[nodiscard]] bool replays(const spec::Machine& machine, spec::Machine::Chooser chooser,
                           const Goal& goal, const std::vector<spec::Event>& events);

}  // namespace ripeline::verify
