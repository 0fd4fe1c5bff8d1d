// TaskProgress: which tasks of a rank wait, run or are done in a step.
//
// Tasks must be of the rank and the step, which has() checks. Only begin_step() allocates memory.
// Belongs to its executor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/facts.h"
#include "core/waiting.h"

namespace ripeline::core {

class TaskProgress {
 public:
  // `facts` must outlive this object.
  TaskProgress(const ProgramFacts& facts, int rank);

  void begin_step(int microbatches);
  void started(Task task, Time now) {
    state_[index(task)] = State::running;
    last_[static_cast<std::size_t>(task.lane - lanes_.first)] = {task, now};
  }
  void ended(Task task) {
    state_[index(task)] = State::done;
    ++ended_;
  }

  [[nodiscard]] LaneSpan lanes() const { return lanes_; }
  [[nodiscard]] int microbatches() const { return microbatches_; }
  [[nodiscard]] bool has(Task task) const {
    return task.lane >= lanes_.first && task.lane < lanes_.end && task.microbatch >= 0 &&
           task.microbatch < microbatches_ &&
           task.microbatch < facts_.tasks_of(task.lane, microbatches_);
  }
  [[nodiscard]] bool waits(Task task) const { return state_[index(task)] == State::waiting; }
  [[nodiscard]] bool runs(Task task) const { return state_[index(task)] == State::running; }
  [[nodiscard]] bool is_done(Task task) const { return state_[index(task)] == State::done; }
  [[nodiscard]] bool all_done() const { return ended_ == tasks_; }

  // The lane's task that started last, the only one that may be running; lane -1 if none started.
  [[nodiscard]] const RunningTask& last_started(LaneId lane) const {
    return last_[static_cast<std::size_t>(lane - lanes_.first)];
  }
  // The lane's first task that is not done; microbatch -1 if all are done.
  [[nodiscard]] Task first_left(LaneId lane) const;
  // As in `0F started 3, ended 2, 0B started 0, ended 0`; an ellipsis follows after `most` lanes.
  [[nodiscard]] std::string text(int most) const;

 private:
  enum class State : std::uint8_t { waiting, running, done };

  [[nodiscard]] std::size_t index(Task task) const {
    return static_cast<std::size_t>(task.lane - lanes_.first) *
               static_cast<std::size_t>(microbatches_) +
           static_cast<std::size_t>(task.microbatch);
  }

  const ProgramFacts& facts_;
  LaneSpan lanes_;  // the rank's
  int microbatches_ = 0;
  std::int64_t ended_ = 0;
  std::int64_t tasks_ = 0;
  std::vector<State> state_;       // per own lane and microbatch
  std::vector<RunningTask> last_;  // per own lane
};

}  // namespace ripeline::core
