#include "trace/steps.h"

#include <algorithm>
#include <map>

namespace ripeline::trace {

std::vector<Step> steps_of(const File& file) {
  const core::ProgramFacts& facts = file.about.facts();
  struct Seen {
    std::int64_t tasks = 0;
    int microbatches = 0;
  };
  std::map<std::int64_t, Seen> seen;
  for (const TaskEvent& e : file.record.tasks) {
    Seen& step = seen[e.step];
    ++step.tasks;
    const bool is_once = facts.lanes[static_cast<std::size_t>(e.task.lane)].once;
    if (!is_once) step.microbatches = std::max(step.microbatches, facts.microbatch_of(e.task) + 1);
  }
  std::vector<Step> steps;
  for (const auto& [number, step] : seen) {
    std::int64_t tasks = 0;
    for (std::size_t lane = 0; lane < facts.lanes.size(); ++lane) {
      tasks += facts.tasks_of(static_cast<core::LaneId>(lane), step.microbatches);
    }
    steps.push_back({number, step.tasks == tasks});
  }
  return steps;
}

void keep_steps(Record& record, StepRange range) {
  const auto is_other = [&](const auto& e) { return !range.has(e.step); };
  std::erase_if(record.tasks, is_other);
  std::erase_if(record.messages, is_other);
  std::erase_if(record.idle, is_other);
}

}  // namespace ripeline::trace
