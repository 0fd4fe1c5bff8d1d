#include "verify/states/interleave.h"

#include "verify/states/state_key.h"
#include "verify/states/task_moves.h"

namespace ripeline::verify {

using spec::Event;
using spec::Machine;

namespace {

class BetweenEvents {
 public:
  using State = Machine::State;
  using Move = Event;

  BetweenEvents(const Machine& machine, Machine::Chooser chooser, const Goal& goal)
      : machine_(machine), chooser_(chooser), goal_(goal) {}

  [[nodiscard]] std::string key(const State& state) const {
    StateKey key;
    key.add_tasks(state).add_messages(state).add_queues(state);
    if (chooser_ == Machine::Chooser::dispatch) key.add_rounds(state);
    return key.take();
  }
  [[nodiscard]] Visit<Event> visit(const State& state, std::size_t /*number*/) const {
    std::vector<Event> next = machine_.enabled(state, chooser_);
    if (goal_.is_stuck() && next.empty() && !machine_.done(state)) return {.found = true};
    for (const Event& event : next) {
      if (event.what != Event::Do::start) continue;
      const spec::Lane& lane = at(machine_.program().lanes, event.lane);
      if (breaks_bound(goal_, lane, state)) return {.found = true, .through = event};
    }
    return {.moves = std::move(next)};
  }
  [[nodiscard]] State after(const State& state, const Event& event) const {
    State after = state;
    machine_.step(after, event);
    return after;
  }

 private:
  const Machine& machine_;
  Machine::Chooser chooser_;
  const Goal& goal_;
};

}  // namespace

Explored<Event> interleave(const Machine& machine, Machine::Chooser chooser, const Goal& goal,
                           Budget& budget) {
  BetweenEvents states(machine, chooser, goal);
  return breadth_first(states, {machine.initial()}, budget, {.visit = cost_of_state(machine)});
}

}  // namespace ripeline::verify
