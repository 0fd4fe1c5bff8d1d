// Search: finds runs of one task after another (verify/states/task_moves.h), for one microbatch
// count.
//
// From the most directed to the most thorough:
//   towards()   depth first, to a state that the solver named
//   walk()      a few random runs
//   overfill()  one run, continued until more messages wait for an inbox than it has slots
//   explore()   every state between two tasks, breadth first
// The first three only find: when they find nothing, nothing is known. The last one also proves:
// when it is complete, this microbatch count is safe under the chooser, if tasks of one rank do not
// run side by side (verify/states/interleave.h).
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

// A state to search for: how often each lane has run, and for a pool's bound the lane that then
// starts.
struct Target {
  std::vector<std::int64_t> counts;
  int last_lane = -1;
};

class Search {
 public:
  // `lowest_only` is for the moves.
  Search(const spec::Machine& machine, spec::Machine::Chooser chooser, const Goal& goal,
         bool lowest_only, Budget& budget);

  // Depth first to the target, never beyond its counts. Consumers are tried before producers, and
  // of a lane the microbatches at this end before the others. For a state that the solver named:
  // it need not be one that a run reaches.
  enum class Microbatches : std::uint8_t { low, high };
  [[nodiscard]] std::optional<Run> towards(const Target& target, Microbatches first,
                                           std::size_t most_states);
  // So many random runs to the end, the same ones every time. Most prefer some lanes to others, and
  // of a lane the first or the last microbatch, since lanes that go different ways are what sticks
  // at a join. For what the solver's states did not lead to.
  [[nodiscard]] std::optional<Run> walk(int walks);

  // Continues the run of a committed order after which more messages wait for the inbox than it has
  // slots. One of them is left out, as many of the others arrive as fit, and the run goes on as far
  // as it can; so with one after the other left out, until the run sticks.
  [[nodiscard]] std::optional<std::vector<spec::Event>> overfill(const Run& run, int inbox) const;

  // Every state that moves reach; the run found has the fewest tasks.
  [[nodiscard]] Explored<Task> explore();

  // Leaves out tasks without which the run still is one and still shows the goal.
  [[nodiscard]] Run shortened(Run run);
  // With every message that is still on its way arriving at the end, or ending with the start that
  // breaks a bound. Nothing if Machine does not replay it so.
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
  std::vector<int> depth_;  // per lane: the longest way from a lane without needs
};

}  // namespace ripeline::verify
