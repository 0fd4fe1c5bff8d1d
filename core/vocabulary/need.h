// Need: the rule for which of a producer lane's tasks a task of the consumer lane needs.
//
// A task needs the producer's task of the same microbatch, or of the microbatch before, or all its
// tasks. If the microbatch does not exist, or the producer's share lacks it, nothing is needed.
// Tasks are numbered as in core/vocabulary/task.h. `Lane` is the lane type of a Program or of
// ProgramFacts, with `once` and `share`. A Need views the two lanes. No other header has the rule.
#pragma once

#include "core/vocabulary/share.h"
#include "core/vocabulary/task.h"

namespace ripeline::core {

// Tasks first .. last - 1 of a lane.
struct TaskSpan {
  int first = 0;
  int last = 0;
};

// Out of line because shares are rare: every event calls the common case, which must stay short.
[[nodiscard]] int tasks_of_share(const Share& share, int microbatches);
[[nodiscard]] TaskSpan needed_across(const Share& producer, const Share& consumer, Of of, int task);
[[nodiscard]] int needed_by_across(const Share& producer, const Share& consumer, Of of, int task,
                                   int microbatches);

// How many tasks a lane has. A lane with `once` has all microbatches as its share.
template <class Lane>
[[nodiscard]] constexpr int tasks_of(const Lane& lane, int microbatches) {
  if (!lane.share.is_all()) [[unlikely]]
    return tasks_of_share(lane.share, microbatches);
  return lane.once ? 1 : microbatches;
}

// True if, because of their shares, the lanes give different numbers to tasks that belong together.
template <class Lane>
[[nodiscard]] constexpr bool cross_shares(const Lane& producer, const Lane& consumer, Of of) {
  if (of == Of::all) return false;
  return producer.share != consumer.share || (of == Of::before && !producer.share.is_all());
}

template <class Lane>
struct Need {
  const Lane& producer;
  const Lane& consumer;
  Of of = Of::same;
  bool crosses_shares = false;  // the value of cross_shares() for the members above

  // The producer's tasks that the consumer's `task` needs.
  [[nodiscard]] constexpr TaskSpan needed(int task, int microbatches) const {
    if (crosses_shares) [[unlikely]]
      return needed_across(producer.share, consumer.share, of, task);
    if (of == Of::all) return {0, tasks_of(producer, microbatches)};
    if (of == Of::same) return {task, task + 1};
    return {task > 0 ? task - 1 : 0, task};
  }
  // The first task of the consumer that needs the producer's `task`; -1 if none does.
  [[nodiscard]] constexpr int needed_by(int task, int microbatches) const {
    if (crosses_shares) [[unlikely]]
      return needed_by_across(producer.share, consumer.share, of, task, microbatches);
    if (of == Of::all) return tasks_of(consumer, microbatches) > 0 ? 0 : -1;
    if (of == Of::same) return task;
    return task + 1 < microbatches ? task + 1 : -1;
  }
};

}  // namespace ripeline::core
