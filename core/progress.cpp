#include "core/progress.h"

#include <algorithm>

#include "core/print.h"

namespace ripeline::core {

TaskProgress::TaskProgress(const ProgramFacts& facts, int rank)
    : facts_(facts), lanes_(facts.lanes_of(rank)) {}

void TaskProgress::begin_step(int microbatches) {
  const auto lanes = static_cast<std::size_t>(lanes_.end - lanes_.first);
  microbatches_ = microbatches;
  ended_ = 0;
  tasks_ = 0;
  for (LaneId id = lanes_.first; id < lanes_.end; ++id) tasks_ += facts_.tasks_of(id, microbatches);
  state_.assign(lanes * static_cast<std::size_t>(microbatches), State::waiting);
  last_.assign(lanes, {});
}

Task TaskProgress::first_left(LaneId lane) const {
  Task task{lane, 0};
  while (has(task) && is_done(task)) ++task.microbatch;
  return has(task) ? task : Task{lane, -1};
}

std::string TaskProgress::text(int most) const {
  std::string text;
  for (LaneId id = lanes_.first; id < lanes_.end; ++id) {
    if (id - lanes_.first == most) return text + " …";
    const auto first = state_.begin() + static_cast<std::ptrdiff_t>(index({id, 0}));
    const int tasks = facts_.tasks_of(id, microbatches_);
    const auto waiting = std::count(first, first + tasks, State::waiting);
    const auto ended = std::count(first, first + tasks, State::done);
    text += (text.empty() ? "" : ", ") + lane_name(facts_, id) + " started " +
            std::to_string(tasks - waiting) + ", ended " + std::to_string(ended);
  }
  return text;
}

}  // namespace ripeline::core
