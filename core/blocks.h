// Blocks: the reasons why a task may not start, from a program's facts and a state of its run.
//
// This header alone states the reasons for the executor, which checks each start that its arbiter
// chose, for find_waits(), which tells what a rank waits for, and for the pictures of a run.
// (spec/machine.h states them for a Program; an arbiter counts missing needs instead.) Only the
// arbiter checks room that is kept for an order. A `State` of the task's rank has
//   microbatches()               of the step
//   is_here(edge, microbatch)    the producer's task has ended, and its message has arrived
//   has_ended(task)
//   takes(lane)                  the lane's engine hands no message over, and is idle or runs only
//                                a task beside which a task of the lane may run
//   held(pool)                   the amount of the pool that is held
//   next(lane)                   the next task of the lane's engine in a committed order; lane -1
//                                if there is no order, or it has ended
// Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/facts.h"
#include "core/task.h"

namespace ripeline::core {

struct Block {
  enum class By : std::uint8_t {
    need,      // `message`: the first that the task needs over an edge and that is not here
    sequence,  // the lane's previous task has not ended
    engine,    // the lane's engine is busy
    room,      // `use` does not find its `room`, since its pool already holds `held`
    turn,      // `next` comes first in the rank's order
  };
  By by = By::need;
  Message message = {};
  UseFacts use = {};
  Room room = {};
  std::int64_t held = 0;
  Task next = {};
};

// Calls `each(message)` with the first missing message of each edge, until `each` returns true.
// Returns whether `each` returned true.
template <class State, class Each>
bool each_missing(const ProgramFacts& facts, const State& state, EdgeSpan needs, Task task,
                  const Each& each) {
  for (EdgeId edge = needs.first; edge < needs.end; ++edge) {
    if (facts.edges[static_cast<std::size_t>(edge)].is_one_to_one()) [[likely]] {
      if (!state.is_here(edge, task.microbatch) && each(Message{edge, task.microbatch}))
        return true;
      continue;
    }
    const TaskSpan needed = facts.needed(edge, task.microbatch, state.microbatches());
    int m = needed.first;
    while (m < needed.last && state.is_here(edge, m)) ++m;
    if (m < needed.last && each(Message{edge, m})) return true;
  }
  return false;
}

// Calls `each(block)` for every reason why `task`, which has not started, may not start, until
// `each` returns true: first for missing needs, then in the order of `Block::By`.
template <class State, class Each>
void each_block(const ProgramFacts& facts, const State& state, Task task, const Each& each) {
  const auto missing = [&](Message message) { return each(Block{.message = message}); };
  if (each_missing(facts, state, facts.needs_of(task.lane), task, missing)) return;
  const bool waits = facts.is_sequential(task.lane) && task.microbatch > 0 &&
                     !state.has_ended(Task{task.lane, task.microbatch - 1});
  if (waits && each(Block{.by = Block::By::sequence})) return;
  if (!state.takes(task.lane) && each(Block{.by = Block::By::engine})) return;
  for (const UseFacts& use : facts.uses_of(task.lane)) {
    const std::optional<Room> room = facts.room(use);
    if (!room) continue;
    const std::int64_t held = state.held(use.pool);
    if (room->fits(held)) continue;
    if (each(Block{.by = Block::By::room, .use = use, .room = *room, .held = held})) return;
  }
  const Task next = state.next(task.lane);
  if (next.lane >= 0 && next != task) each(Block{.by = Block::By::turn, .next = next});
}

}  // namespace ripeline::core
