#include "runtime/protocol/step_times.h"

#include "core/vocabulary/index.h"

namespace ripeline::runtime::protocol {

using core::Time;

void StepTimes::task_ended(core::LaneId lane, Time took) {
  report_.busy += took;
  ++report_.tasks;
  took_[index(lane)] += took;
  ++ended_[index(lane)];
}

std::optional<core::Costs> StepTimes::averages(const core::ProgramFacts& facts) const {
  if (ended_.empty()) return std::nullopt;
  core::Costs costs{.tasks = std::vector<Time>(facts.lanes.size()),
                    .varying = {},
                    .links = std::vector<Time>(facts.edges.size()),
                    .notices = std::vector<Time>(facts.edges.size())};
  for (std::size_t lane = 0; lane < ended_.size(); ++lane) {
    if (ended_[lane] > 0) costs.tasks[lane] = took_[lane] / ended_[lane];
  }
  return costs;
}

}  // namespace ripeline::runtime::protocol
