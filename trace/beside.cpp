#include "trace/beside.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <tuple>
#include <utility>

namespace ripeline::trace {

std::vector<bool> started_beside(const core::ProgramFacts& facts,
                                 const std::vector<TaskEvent>& tasks) {
  if (facts.pairs.empty()) return {};
  const auto engine = [&](const TaskEvent& e) {
    const core::LaneFacts& lane = facts.lanes[static_cast<std::size_t>(e.task.lane)];
    return std::pair(lane.rank, lane.engine);
  };
  // Among tasks that start together, those that take no time come first; others stay as recorded.
  const auto key = [&](const TaskEvent& e) {
    return std::tuple(engine(e), e.start, e.start < e.end);
  };
  std::vector<std::size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(tasks[a]) < key(tasks[b]); });
  std::vector<bool> beside(tasks.size(), false);
  std::size_t other = tasks.size();  // the last task that did not start beside another
  for (const std::size_t i : order) {
    if (other < tasks.size() && engine(tasks[i]) == engine(tasks[other]) &&
        tasks[i].start < tasks[other].end) {
      beside[i] = true;
    } else {
      other = i;
    }
  }
  return beside;
}

}  // namespace ripeline::trace
