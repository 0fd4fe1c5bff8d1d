// Search: finds runs of one task after another (verify/states/task_moves.h), for one microbatch
// count.
//
// From the most directed to the most thorough:
//   towards()   depth first, to a state that the solver named
//   walk()      a few random runs
//   overfill()  one run, continued until more messages wait for an inbox than it has slots
//   explore()   every state between two tasks, breadth first
// The first three can only find runs: if they find none, nothing is known. explore() also proves,
// since if it is complete, this microbatch count is safe under the chooser, unless tasks of one
// rank run side by side (verify/states/interleave.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spec/machine.h"
#include "verify/states/budget.h"
#include "verify/states/explorer.h"
#include "verify/states/goal.h"
#include "verify/states/run.h"
#include "verify/states/task_moves.h"

namespace ripeline::verify {

// A state to search for: the number of tasks that each lane has run. If the goal is a bound, the
// next start of `last_lane` must exceed it.
struct Target {
  std::vector<std::int64_t> counts;
  int last_lane = -1;
};

class Search {
 public:
  // `lowest_only` is passed to TaskMoves.
  Search(const spec::Machine& machine, spec::Machine::Chooser chooser, const Goal& goal,
         bool lowest_only, Budget& budget);

  // Searches depth first for the target, never beyond its counts. Tries consumers before producers
  // and, within a lane, the microbatches at the given end first. The target is a state that the
  // solver named; perhaps no run reaches it.
  enum class Microbatches : std::uint8_t { low, high };
  [[nodiscard]] std::optional<Run> towards(const Target& target, Microbatches first,
                                           std::size_t most_states);
  // Makes `walks` random runs to the end, the same runs in every call. Most runs prefer some lanes,
  // and in each lane the first or the last microbatch, since a join sticks if its lanes run in
  // different orders. For goals to which the solver's states did not lead.
  [[nodiscard]] std::optional<Run> walk(int walks);

  // Continues a run of a committed order after which more messages wait for the inbox than it has
  // slots. One message does not arrive, as many of the others arrive as fit, and the run continues
  // as far as possible. This is repeated with another message until a run sticks.
  [[nodiscard]] std::optional<std::vector<spec::Event>> overfill(const Run& run, int inbox) const;

  // Visits every state that moves reach. A run that is found has the fewest tasks.
  [[nodiscard]] Explored<Task> explore();

  // Drops tasks as long as the rest is still a run that shows the goal.
  [[nodiscard]] Run shortened(Run run);
  // The events of a run, which ends with the arrival of all messages on their way, or with a start
  // that exceeds a bound. nullopt if Machine does not replay these events.
  [[nodiscard]] std::optional<std::vector<spec::Event>> events_of(const Run& run) const;

 private:
  using State = spec::Machine::State;

  void run_to_the_end(State& state, std::vector<spec::Event>& events) const;
  [[nodiscard]] bool shows_goal(const Run& run) const;

  const spec::Machine& machine_;
  const spec::Program& program_;
  TaskMoves moves_;
  const Goal& goal_;
  Budget& budget_;
  std::vector<int> depth_;  // per lane: the longest path to it from a lane without needs
};

}  // namespace ripeline::verify
