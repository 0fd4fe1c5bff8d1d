// TaskMoves: how a Machine goes from one state in which nothing runs to the next.
//
// A move lets the messages of one task that are still on their way arrive, and on fifo edges the
// messages before them; then it runs the task to its end. This loses no reachable state. Delaying
// all other messages leaves the hint the fewest tasks to choose from, and a hint never comes to
// prefer a lane because another lane becomes ready; so, on ranks with one engine, these moves find
// exactly the sequences of lanes that dispatch runs under some timing. Bounded slots are filled at
// the end, in any way that lets no task start. verify/ready/counters.h explains why running tasks
// one at a time reaches every state in which nothing runs.
//
// The constructor's arguments must outlive it. One thread.
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

  // `lowest_only`: in each lane, only the lowest microbatch whose producers have ended is
  // considered. Exact if counts decide (verify/ready/counters.h), else a restriction.
  TaskMoves(const spec::Machine& machine, spec::Machine::Chooser chooser, bool lowest_only);

  [[nodiscard]] const spec::Machine& machine() const { return machine_; }
  [[nodiscard]] spec::Machine::Chooser chooser() const { return chooser_; }
  // The cost of a state, in units of a budget.
  [[nodiscard]] std::uint64_t cost() const { return cost_; }
  // The key has the parts in which states without running tasks can differ.
  [[nodiscard]] std::string key(const State& state) const;

  // The tasks that may run next, in the order of lanes. `state` is changed and then restored.
  [[nodiscard]] std::vector<Task> next(State& state) const;
  [[nodiscard]] bool may_make(State& state, const Task& task) const;
  void make(State& state, const Task& task) const;

  // The arrivals that the task's start waits for; nullopt if its inboxes have no room for these.
  [[nodiscard]] std::optional<std::vector<spec::Event>> deliveries(const State& state,
                                                                   const Task& task) const;
  [[nodiscard]] bool is_on_its_way(const State& state, int edge, int microbatch) const {
    return state.messages[index(edge, microbatch)] == spec::Machine::MessageState::sent;
  }
  // Arrivals after which nothing more arrives and no task may start, though not all have ended;
  // else nullopt. `next` are the moves of `state`. The budget pays for the ways to fill slots.
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
  std::vector<int> rendezvous_;  // the rendezvous edges
};

// The cost of visiting a state: it grows with the tasks, so that a budget measures work.
[[nodiscard]] std::uint64_t cost_of_state(const spec::Machine& machine);

}  // namespace ripeline::verify
