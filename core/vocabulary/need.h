// Need: which tasks of a producer a task of its consumer needs.
//
// The one statement of it, for the edges of a Program and of ProgramFacts alike: `Lane` is
// either's, with the members `once` and `share`. The task of the same microbatch, of the one before
// (nothing, for the first) or all of them; what the producer's share leaves out is not needed.
// Tasks are numbered as core/vocabulary/task.h says. Views the two lanes.
#pragma once

#include "core/vocabulary/share.h"
#include "core/vocabulary/task.h"

namespace ripeline::core {

// Tasks first .. last - 1 of a lane.
struct TaskSpan {
  int first = 0;
  int last = 0;
};

// The code for shares stands apart, so that the common case stays short: every event of a run asks.
[[nodiscard]] int tasks_of_share(const Share& share, int microbatches);
[[nodiscard]] TaskSpan needed_across(const Share& producer, const Share& consumer, Of of, int task);
[[nodiscard]] int needed_by_across(const Share& producer, const Share& consumer, Of of, int task,
                                   int microbatches);

// How many tasks a lane has. One that is `once` has no share of its own.
template <class Lane>
[[nodiscard]] constexpr int tasks_of(const Lane& lane, int microbatches) {
  if (!lane.share.is_all()) [[unlikely]]
    return tasks_of_share(lane.share, microbatches);
  return lane.once ? 1 : microbatches;
}

// Whether the lanes number the tasks that belong together differently: by their shares.
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
  bool crosses_shares = false;  // cross_shares() of the three

  // The producer's tasks that the consumer's `task` needs.
  [[nodiscard]] constexpr TaskSpan needed(int task, int microbatches) const {
    if (crosses_shares) [[unlikely]]
      return needed_across(producer.share, consumer.share, of, task);
    if (of == Of::all) return {0, tasks_of(producer, microbatches)};
    if (of == Of::same) return {task, task + 1};
    return {task > 0 ? task - 1 : 0, task};
  }
  // The first task of the consumer that needs the producer's `task`; -1: none.
  [[nodiscard]] constexpr int needed_by(int task, int microbatches) const {
    if (crosses_shares) [[unlikely]]
      return needed_by_across(producer.share, consumer.share, of, task, microbatches);
    if (of == Of::all) return tasks_of(consumer, microbatches) > 0 ? 0 : -1;
    if (of == Of::same) return task;
    return task + 1 < microbatches ? task + 1 : -1;
  }
};

}  // namespace ripeline::core
