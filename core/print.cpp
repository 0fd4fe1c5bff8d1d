#include "core/print.h"

namespace ripeline::core {

std::string lane_name(const ProgramFacts& facts, LaneId lane) {
  const LaneFacts& l = facts.lanes[static_cast<std::size_t>(lane)];
  return std::to_string(l.stage) + std::string(facts.ops[static_cast<std::size_t>(l.op)].name);
}

std::string task_name(const ProgramFacts& facts, Task task) {
  return lane_name(facts, task.lane) + std::to_string(facts.microbatch_of(task));
}

std::string pool_name(const ProgramFacts& facts, int pool) {
  const PoolFacts& p = facts.pools[static_cast<std::size_t>(pool)];
  return std::string(p.resource) + (p.stage < 0 ? " of rank " + std::to_string(p.rank)
                                                : " of stage " + std::to_string(p.stage));
}

std::string inbox_name(const ProgramFacts& facts, int inbox) {
  const InboxFacts& box = facts.inboxes[static_cast<std::size_t>(inbox)];
  if (!box.channel.empty()) {
    return std::string(box.channel) + (box.stage < 0 ? " of rank " + std::to_string(box.rank)
                                                     : " of stage " + std::to_string(box.stage));
  }
  for (const EdgeFacts& e : facts.edges) {
    if (e.inbox != inbox) continue;
    return "the slots from " + lane_name(facts, e.producer) + " to " + lane_name(facts, e.consumer);
  }
  return {};
}

}  // namespace ripeline::core
