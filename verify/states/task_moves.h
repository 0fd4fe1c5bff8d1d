// TaskMoves: how a Machine goes from one state in which nothing runs to the next.
//
// A move runs one task to its end, right after those of its messages that are still on their way
// have arrived, over a fifo edge with those before them. Nothing is lost by that. Delaying all
// other messages leaves the hint the fewest tasks to choose from, and a hint never turns to a lane
// because another lane has become ready as well; so the sequences of lanes that dispatch can be
// brought to run by timing are those found here, on ranks with one engine. Bounded slots are filled
// at the end, in whatever way lets no task start. See verify/ready/counters.h for why running tasks
// one at a time reaches every state in which nothing runs.
//
// What it was made of must outlive it. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/machine.h"
#include "verify/states/budget.h"
#include "verify/states/run.h"

namespace ripeline::verify {

class TaskMoves {
 public:
  using State = spec::Machine::State;

  // `lowest_only`: of a lane, the lowest microbatch whose producers have ended is the only one to
  // consider. Right where counts decide (verify/ready/counters.h), and a restriction elsewhere.
  TaskMoves(const spec::Machine& machine, spec::Machine::Chooser chooser, bool lowest_only);

  [[nodiscard]] const spec::Machine& machine() const { return machine_; }
  [[nodiscard]] spec::Machine::Chooser chooser() const { return chooser_; }
  // The cost of a state, in units of a budget.
  [[nodiscard]] std::uint64_t cost() const { return cost_; }
  // All that such states differ in.
  [[nodiscard]] std::string key(const State& state) const;

  // The tasks that may run next, in the order of lanes. The state is as it was afterwards.
  [[nodiscard]] std::vector<Task> next(State& state) const;
  [[nodiscard]] bool may_make(State& state, const Task& task) const;
  void make(State& state, const Task& task) const;

  // The arrivals that the task's start waits for; nothing if its inboxes have no room for them.
  [[nodiscard]] std::optional<std::vector<spec::Event>> deliveries(const State& state,
                                                                   const Task& task) const;
  [[nodiscard]] spec::Event arrival(int edge, int microbatch) const;
  [[nodiscard]] bool is_on_its_way(const State& state, int edge, int microbatch) const {
    return state.messages[index(edge, microbatch)] == spec::Machine::MessageState::sent;
  }
  // The arrivals after which nothing more arrives and no task may start, though not all have ended;
  // nothing if there are none. `next` are the moves. The budget pays for ways to fill slots.
  [[nodiscard]] std::optional<std::vector<spec::Event>> sticking(const State& state,
                                                                 const std::vector<Task>& next,
                                                                 Budget& budget) const;

 private:
  [[nodiscard]] bool may_start_after_arrivals(State& state, const Task& task) const;
  template <class Do>
  void for_each_message(const Task& task, const Do& visit) const;
  bool fill(State& state, int first_edge, std::vector<spec::Event>& arrivals, Budget& budget) const;
  [[nodiscard]] bool any_may_start(const State& state) const;
  [[nodiscard]] bool is_next(const State& state, const Task& task) const;
  [[nodiscard]] std::size_t index(int lane_or_edge, int microbatch) const {
    return static_cast<std::size_t>(lane_or_edge) *
               static_cast<std::size_t>(machine_.microbatches()) +
           static_cast<std::size_t>(microbatch);
  }

  const spec::Machine& machine_;
  const spec::Program& program_;
  spec::Machine::Chooser chooser_;
  bool lowest_only_;
  std::uint64_t cost_;
  bool bounded_;                 // some edge has an inbox, is fifo or a rendezvous
  std::vector<int> rendezvous_;  // edges
};

// The cost of a state grows with its tasks, so that a budget is a measure of work.
[[nodiscard]] std::uint64_t cost_of_state(const spec::Machine& machine);

}  // namespace ripeline::verify
