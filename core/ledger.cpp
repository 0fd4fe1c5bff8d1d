#include "core/ledger.h"

#include <algorithm>
#include <limits>
#include <string>

#include "core/print.h"

namespace ripeline::core {

namespace {

// What may be held after a start of this use.
std::int64_t most_of(const PoolFacts& pool, const UseFacts& use) {
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (pool.bound >= 0) most = pool.bound;
  if (pool.capacity >= 0) most = std::min(most, pool.capacity - use.leaving);
  return most;
}

}  // namespace

Ledger::Ledger(const ProgramFacts& facts)
    : facts_(facts),
      first_use_(facts.lanes.size() + 1, 0),
      held_(facts.pools.size(), 0),
      peak_(facts.pools.size(), 0) {
  for (const UseFacts& use : facts.uses) ++first_use_[static_cast<std::size_t>(use.lane) + 1];
  for (const UseFacts& use : facts.uses) {
    most_.push_back(most_of(facts.pools[static_cast<std::size_t>(use.pool)], use));
  }
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
    if (held_[pool] > most_[i] && use.acquires > 0) {
      return {StatusCode::breach, "starting " + task_name(facts_, task) + " makes " +
                                      pool_name(facts_, use.pool) + " " +
                                      std::to_string(held_[pool]) + ", and at most " +
                                      std::to_string(most_[i]) + " was proved or has room"};
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
      return {StatusCode::breach, "the end of " + task_name(facts_, task) + " releases more of " +
                                      pool_name(facts_, use.pool) + " than is held, by " +
                                      std::to_string(-held_[pool])};
    }
  }
  return {};
}

}  // namespace ripeline::core
