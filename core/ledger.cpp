#include "core/ledger.h"

#include <algorithm>
#include <string>

#include "core/print.h"

namespace ripeline::core {

Ledger::Ledger(const ProgramFacts& facts, int rank)
    : facts_(facts),
      rank_(rank),
      first_use_(facts.lanes.size() + 1, 0),
      held_(facts.pools.size(), 0),
      peak_(facts.pools.size(), 0) {
  for (const UseFacts& use : facts.uses) ++first_use_[static_cast<std::size_t>(use.lane) + 1];
  for (std::size_t i = 1; i < first_use_.size(); ++i) first_use_[i] += first_use_[i - 1];
}

void Ledger::begin_step() { std::fill(held_.begin(), held_.end(), 0); }

Status Ledger::started(Task task) {
  const auto lane = static_cast<std::size_t>(task.lane);
  for (std::size_t i = first_use_[lane]; i < first_use_[lane + 1]; ++i) {
    const UseFacts& use = facts_.uses[i];
    const auto pool = static_cast<std::size_t>(use.pool);
    held_[pool] += use.acquires;
    peak_[pool] = std::max(peak_[pool], held_[pool]);
    const std::int64_t bound = facts_.pools[pool].bound;
    if (bound >= 0 && held_[pool] > bound) {
      return {StatusCode::breach,
              "rank " + std::to_string(rank_) + ": starting " + task_name(facts_, task) +
                  " makes " + pool_name(facts_, use.pool) + " " + std::to_string(held_[pool]) +
                  ", above the proved peak of " + std::to_string(bound)};
    }
  }
  return {};
}

Status Ledger::finished(Task task) {
  const auto lane = static_cast<std::size_t>(task.lane);
  for (std::size_t i = first_use_[lane]; i < first_use_[lane + 1]; ++i) {
    const UseFacts& use = facts_.uses[i];
    const auto pool = static_cast<std::size_t>(use.pool);
    held_[pool] -= use.releases;
    if (held_[pool] < 0) {
      return {StatusCode::breach, "rank " + std::to_string(rank_) + ": the end of " +
                                      task_name(facts_, task) + " releases more of " +
                                      pool_name(facts_, use.pool) + " than is held, by " +
                                      std::to_string(-held_[pool])};
    }
  }
  return {};
}

}  // namespace ripeline::core
