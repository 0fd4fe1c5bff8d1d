#include "verify/order/order_lists.h"

#include <algorithm>

#include <fmt/format.h>

namespace ripeline::verify {

using spec::Program;
using spec::Task;

namespace {

// A clause about the first task that the rank lists twice, lacks or should not list; or empty.
std::string not_once(const Program& program, int microbatches, int rank,
                     const std::vector<Task>& tasks) {
  const int first = program.first_lane(rank);
  std::vector<std::vector<int>> listed(
      static_cast<std::size_t>(program.first_lane(rank + 1) - first));
  for (const Task& task : tasks) at(listed, task.lane - first).push_back(task.microbatch);
  for (int lane = first; lane < first + size_of(listed); ++lane) {
    std::vector<int>& its = at(listed, lane - first);
    const int count = program.tasks_of(lane, microbatches);
    std::sort(its.begin(), its.end());
    // Finds the first entry that is not the successor of the previous entry.
    int next = 0;
    while (next < size_of(its) && its[static_cast<std::size_t>(next)] == next) ++next;
    if (next == count && next == size_of(its)) continue;
    const int found = next < size_of(its) ? at(its, next) : count;
    if (found < next) return fmt::format("{} is listed twice", program.task_name(lane, found));
    if (next < count) return fmt::format("{} is missing", program.task_name(lane, next));
    return fmt::format("{} is beyond the last microbatch", program.task_name(lane, found));
  }
  return {};
}

void add_by_engine(const Program& program, const std::vector<Task>& tasks, OrderLists& lists) {
  const std::size_t first = lists.of_engine.size();
  lists.of_engine.resize(first + spec::kEngines);
  for (const Task& task : tasks) {
    const auto engine = first + static_cast<std::size_t>(at(program.lanes, task.lane).engine);
    std::vector<int>& its = at(lists.position, task.lane);
    const auto m = static_cast<std::size_t>(task.microbatch);
    if (its.size() <= m) its.resize(m + 1, -1);
    if (its[m] < 0) its[m] = size_of(lists.of_engine[engine]);
    lists.of_engine[engine].push_back(task);
  }
}

}  // namespace

OrderLists lists_of_order(const Program& program, int microbatches) {
  OrderLists lists;
  lists.position.resize(program.lanes.size());
  const spec::Order& order = at(program.orders, program.dispatch.order);
  for (int rank = 0; rank < program.ranks; ++rank) {
    const spec::Result<std::vector<Task>> tasks = expand(program, order, rank, microbatches);
    if (!tasks.ok()) {
      lists.invalid = tasks.errors();
      return lists;
    }
    if (lists.not_once.empty()) {
      lists.not_once = not_once(program, microbatches, rank, tasks.value());
    }
    add_by_engine(program, tasks.value(), lists);
  }
  return lists;
}

int list_of(const Program& program, int lane) {
  const spec::Lane& l = at(program.lanes, lane);
  return static_cast<int>(spec::engine_index(l.rank, l.engine));
}

}  // namespace ripeline::verify
